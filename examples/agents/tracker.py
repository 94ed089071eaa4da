"""A server of the Model Context Protocol, as small as one can be: an issue tracker."""

import json
import sys

TEXT = {"type": "string"}
TOOLS = [
    {"name": "search", "inputSchema": {"type": "object", "properties": {"query": TEXT}, "required": ["query"]}},
    {"name": "close", "inputSchema": {"type": "object", "properties": {"id": TEXT, "note": TEXT}, "required": ["id"]}},
]


def call(name, arguments):
    if name == "search":
        return {"content": [{"type": "text", "text": "BD-12 " + arguments["query"]}]}
    result = {"id": arguments["id"], "state": "closed"}
    return {"content": [{"type": "text", "text": "closed " + arguments["id"]}], "structuredContent": {"result": result}}


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
            "serverInfo": {"name": "tracker", "version": "1"},
        }
    elif message["method"] == "tools/list":
        answer = {"tools": TOOLS}
    elif message["method"] == "tools/call":
        answer = call(params["name"], params.get("arguments", {}))
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": answer}), flush=True)
