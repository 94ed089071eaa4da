"""A stand-in for an MCP server: its tools are its arguments, and each answers with what it was given."""

import json
import sys

SCHEMA = {"type": "object", "properties": {"query": {"type": "string"}}}

for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message:
        continue
    params = message.get("params", {})
    answer = {}
    if message["method"] == "initialize":
        answer = {
            "protocolVersion": params["protocolVersion"],
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "stand-in", "version": "1"},
        }
    elif message["method"] == "tools/list":
        answer = {"tools": [{"name": name, "inputSchema": SCHEMA} for name in sys.argv[1:]]}
    elif message["method"] == "tools/call":
        answer = {"content": [{"type": "text", "text": json.dumps(params.get("arguments", {}))}]}
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": answer}), flush=True)
