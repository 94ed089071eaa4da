// The TextMate grammar, as VS Code reads it: with its own tokenizer.
"use strict";

const assert = require("node:assert/strict");
const fs = require("node:fs");
const path = require("node:path");
const test = require("node:test");
const oniguruma = require("vscode-oniguruma");
const textmate = require("vscode-textmate");

const syntaxes = path.join(__dirname, "..", "syntaxes");

async function grammar() {
  const wasm = fs.readFileSync(require.resolve("vscode-oniguruma/release/onig.wasm"));
  await oniguruma.loadWASM(wasm.buffer.slice(wasm.byteOffset, wasm.byteOffset + wasm.byteLength));
  const registry = new textmate.Registry({
    onigLib: Promise.resolve({
      createOnigScanner: (patterns) => new oniguruma.OnigScanner(patterns),
      createOnigString: (text) => new oniguruma.OnigString(text),
    }),
    loadGrammar: async (scope) => {
      if (scope !== "source.dialect") {
        return null;
      }
      const file = path.join(syntaxes, "dialect.tmLanguage.json");
      return textmate.parseRawGrammar(fs.readFileSync(file, "utf8"), file);
    },
  });
  return registry.loadGrammar("source.dialect");
}

// What the tokens of a line are called, blanks left out: "Test:verb with:preposition go:noun".
const names = {
  "keyword.control.verb.dialect": "verb",
  "keyword.operator.preposition.dialect": "preposition",
  "entity.name.type.noun.dialect": "noun",
  "comment.line.number-sign.dialect": "comment",
  "string.unquoted.dialect": "value",
  "string.quoted.double.dialect": "string",
  "constant.character.escape.dialect": "escape",
  "variable.parameter.dialect": "name",
  "keyword.operator.assignment.dialect": "=",
  "variable.other.dialect": "variable",
  "invalid.deprecated.list-marker.dialect": "marker",
  "invalid.deprecated.fence.dialect": "fence",
  "invalid.deprecated.backtick.dialect": "backtick",
  "invalid.illegal.quote.dialect": "quote",
  "invalid.illegal.escape.dialect": "bad-escape",
};

function tokens(g, line, stack = textmate.INITIAL) {
  const result = g.tokenizeLine(line, stack);
  const words = [];
  for (const token of result.tokens) {
    const text = line.slice(token.startIndex, token.endIndex);
    if (text.trim() === "") {
      continue;
    }
    const scope = token.scopes[token.scopes.length - 1];
    words.push(`${text.trim()}:${names[scope] ?? scope}`);
  }
  return { text: words.join(" "), stack: result.ruleStack };
}

test("the grammar names the parts of a line", async () => {
  const g = await grammar();
  const cases = {
    "Test with pytest": "Test:verb with:preposition pytest:noun",
    "  test WITH pytest # all": "test:verb WITH:preposition pytest:noun # all:comment",
    "# a comment": "# a comment:comment",
    "Close issue #12": "Close:verb issue:noun #12:value",
    "Move BD-1 to issue todo": "Move:verb BD-1:value to:preposition issue:noun todo:value",
    "Search for in-progress in": "Search:verb for:preposition in-progress:noun in:value",
    "Close issue id=BD-12 {who}": "Close:verb issue:noun id:name =:= BD-12:value {who}:variable",
    'Close issue "a \\" {b} {{ \\d"':
      'Close:verb issue:noun ":string a:string \\":escape {b}:variable {{:escape \\d:bad-escape ":string',
    "- Test with `pytest`.": "-:marker Test:verb with:preposition `:backtick pytest:noun `:backtick .:value",
    "1) Test pytest": "1):marker Test:verb pytest:noun",
    "```sh": "```sh:fence",
    "Close issue “a”": "Close:verb issue:noun “:quote a”:value",
    'Close issue "with x y" # with z': 'Close:verb issue:noun ":string with x y:string ":string # with z:comment',
    "Close #12 with issue": "Close:verb #12:value with:preposition issue:noun",
    "Sync in-progress": "Sync:verb in-progress:noun",
  };
  for (const [line, want] of Object.entries(cases)) {
    assert.equal(tokens(g, line).text, want, line);
  }
});

test("no line reaches into the next", async () => {
  const g = await grammar();
  for (const line of ['Close issue "never closed', "Test with", "Test", "```", "- ", "Close issue {", "Test with pytest \\"]) {
    const { stack } = tokens(g, line);
    assert.equal(tokens(g, "Test with pytest", stack).text, "Test:verb with:preposition pytest:noun", line);
  }
});

test("the grammar has the prepositions of the language", async () => {
  const source = fs.readFileSync(path.join(__dirname, "..", "..", "..", "preposition.go"), "utf8");
  const list = source.match(/Prepositions = \[\.\.\.\]string\{([^}]*)\}/)[1].match(/"[a-z]+"/g).map((w) => w.slice(1, -1));
  assert.ok(list.length > 10);
  const g = await grammar();
  for (const word of list) {
    assert.equal(tokens(g, `Do x ${word} y`).text, `Do:verb x:value ${word}:preposition y:noun`, word);
  }
  assert.equal(tokens(g, "Do x without y").text, "Do:verb x:value without:preposition y:noun");
});
