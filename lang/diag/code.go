package diag

// A Code names a kind of finding. Codes are part of the interface: a code is
// never renamed and never reused for something else.
type Code string

// TooManyFindings ends a list that was cut (see [Collector]).
const TooManyFindings Code = "too-many-findings"

// Codes of the text of a script (package lang).
const (
	NotUTF8            Code = "not-utf8"
	ForbiddenCharacter Code = "forbidden-character" // control, bidi, zero-width, odd space
	LineTooLong        Code = "line-too-long"
	FileTooLarge       Code = "file-too-large"
	SmartQuote         Code = "smart-quote"
	UnclosedString     Code = "unclosed-string"
	BadEscape          Code = "bad-escape"
	QuoteInWord        Code = "quote-in-word"
	BadVerb            Code = "bad-verb"     // the line does not begin with a word
	MissingNoun        Code = "missing-noun" // nothing, or no word, where the noun belongs
	ManyObjects        Code = "many-objects" // several unquoted object words
	ExtraPreposition   Code = "extra-preposition"
	MissingValue       Code = "missing-value"  // name= with nothing after it
	BadVariable        Code = "bad-variable"   // a brace that is no {name}
	Misplaced          Code = "misplaced-name" // name=value before the noun
	ShellOperator      Code = "shell-operator" // "|", "&&", "2>&1": there is no shell
)

// Codes of text that models emit and that fmt can put right (package lang, warnings).
const (
	ListMarker Code = "list-marker"
	CodeFence  Code = "code-fence"
	Backtick   Code = "backtick"
	FullStop   Code = "full-stop"
	CRLF       Code = "crlf"
	ByteOrder  Code = "byte-order-mark"
	LookAlike  Code = "look-alike" // a word of letters that only look Latin
)

// Codes of the routing matrix (package lang/routing).
const (
	MatrixSyntax     Code = "matrix-syntax" // not TOML, or a value of the wrong type
	MatrixMissing    Code = "matrix-missing"
	UnknownKey       Code = "unknown-key"
	BadValue         Code = "bad-value"
	MissingKey       Code = "missing-key"
	BadTemplate      Code = "bad-template"
	UnknownPack      Code = "unknown-pack"
	ExtendsCycle     Code = "extends-cycle"
	DuplicatePair    Code = "duplicate-pair"
	UnknownMember    Code = "unknown-member"
	CompositeCycle   Code = "composite-cycle"
	LockOrder        Code = "lock-order"       // two composites would wait for each other
	ReservedBinding  Code = "reserved-binding" // a project that redefines "gate results"
	TooManyVerbs     Code = "too-many-verbs"
	TooManyNouns     Code = "too-many-nouns"
	TooManyBindings  Code = "too-many-bindings"
	ShellCharacter   Code = "shell-character"
	CannotFail       Code = "cannot-fail"
	ParallelWrites   Code = "parallel-writes"
	MissingTool      Code = "missing-tool"
	MissingServer    Code = "missing-server" // of an MCP tool
	MissingSkill     Code = "missing-skill"
	UnusedBinding    Code = "unused-binding"
	PrepositionNoun  Code = "preposition-as-name"
	DeprecatedLine   Code = "deprecated"
	ConflictingNames Code = "conflicting-names" // an alias that is also a name
)

// Codes of binding a script to its matrix (package lang/resolve).
const (
	UnboundVerb     Code = "unbound-verb"
	UnboundNoun     Code = "unbound-noun"
	UnboundPair     Code = "unbound-pair"
	Ambiguous       Code = "ambiguous"
	MissingArgument Code = "missing-argument"
	SurplusArgument Code = "surplus-argument"
	UnknownArgument Code = "unknown-argument"
	RepeatedName    Code = "repeated-argument"
	FlagArgument    Code = "flag-argument" // a value that begins with "-"
	UnknownVariable Code = "unknown-variable"
	OddPreposition  Code = "odd-preposition"
	RunsItself      Code = "runs-itself" // a line that runs the script which it is in
	EmptyScript     Code = "empty-script"
	MCPCall         Code = "mcp-call"     // the server, or its schema, says no (check --online)
	Prose           Code = "prose"        // a sentence, or words around a command
	TwoCommands     Code = "two-commands" // on one line
	NotOneLine      Code = "no-such-line" // FILE:LINE names a line without a command
)
