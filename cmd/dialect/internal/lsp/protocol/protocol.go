// Package protocol has the types of the Language Server Protocol 3.17 that the server speaks, and no others;
// their names and fields are those of the specification. Positions are 0-based, and characters count
// UTF-16 code units. It holds data and does nothing.
package protocol

import (
	"encoding/json"

	"github.com/command-dialect/dialect/lang/diag/output"
)

type (
	// Those of a diagnostic are the ones that `dialect check --lsp-lite` writes.
	Position       = output.Position
	TextRange      = output.Range
	Location       = output.Location
	Diagnostic     = output.Diagnostic
	RelatedMessage = output.Related

	LocationLink struct {
		OriginSelectionRange TextRange `json:"originSelectionRange"`
		TargetURI            string    `json:"targetUri"`
		TargetRange          TextRange `json:"targetRange"`
		TargetSelectionRange TextRange `json:"targetSelectionRange"`
	}
	TextDocument struct {
		URI     string `json:"uri"`
		Version int    `json:"version,omitempty"`
	}
	TextEdit struct {
		Range   TextRange `json:"range"`
		NewText string    `json:"newText"`
	}
	WorkspaceEdit struct {
		Changes map[string][]TextEdit `json:"changes"`
	}
	Markup struct {
		Kind  string `json:"kind"` // "markdown"
		Value string `json:"value"`
	}
)

// Diagnostics.
type (
	PublishParams struct {
		URI         string       `json:"uri"`
		Version     *int         `json:"version,omitempty"`
		Diagnostics []Diagnostic `json:"diagnostics"`
	}
	DiagnosticReport struct {
		Kind     string        `json:"kind"` // "full" or "unchanged"
		ResultID string        `json:"resultId"`
		Items    *[]Diagnostic `json:"items,omitempty"` // of a full report
	}
)

// Requests and notifications.
type (
	InitializeParams struct {
		RootURI          string `json:"rootUri"`
		RootPath         string `json:"rootPath"`
		WorkspaceFolders []struct {
			URI string `json:"uri"`
		} `json:"workspaceFolders"`
		InitializationOptions struct {
			Routing string            `json:"routing"`
			Vars    map[string]string `json:"vars"`
		} `json:"initializationOptions"`
		Capabilities struct {
			Workspace struct {
				Diagnostics struct {
					RefreshSupport bool `json:"refreshSupport"`
				} `json:"diagnostics"`
				DidChangeWatchedFiles struct {
					DynamicRegistration bool `json:"dynamicRegistration"`
				} `json:"didChangeWatchedFiles"`
			} `json:"workspace"`
			TextDocument struct {
				Diagnostic *struct{} `json:"diagnostic"`
				Completion struct {
					CompletionItem struct {
						SnippetSupport bool `json:"snippetSupport"`
					} `json:"completionItem"`
				} `json:"completion"`
				Definition struct {
					LinkSupport bool `json:"linkSupport"`
				} `json:"definition"`
				DocumentSymbol struct {
					Hierarchical bool `json:"hierarchicalDocumentSymbolSupport"`
				} `json:"documentSymbol"`
			} `json:"textDocument"`
		} `json:"capabilities"`
	}
	DidOpenParams struct {
		TextDocument struct {
			URI        string `json:"uri"`
			LanguageID string `json:"languageId"`
			Version    int    `json:"version"`
			Text       string `json:"text"`
		} `json:"textDocument"`
	}
	ContentChange struct {
		Range *TextRange `json:"range"`
		Text  string     `json:"text"`
	}
	DidChangeParams struct {
		TextDocument   TextDocument    `json:"textDocument"`
		ContentChanges []ContentChange `json:"contentChanges"`
	}
	DocumentParams struct {
		TextDocument TextDocument `json:"textDocument"`
	}
	PositionParams struct {
		TextDocument TextDocument `json:"textDocument"`
		Position     Position     `json:"position"`
	}
	RangeParams struct {
		TextDocument TextDocument `json:"textDocument"`
		Range        TextRange    `json:"range"`
	}
	DiagnosticParams struct {
		TextDocument     TextDocument `json:"textDocument"`
		PreviousResultID string       `json:"previousResultId"`
	}
	ReferenceParams struct {
		PositionParams
		Context struct {
			IncludeDeclaration bool `json:"includeDeclaration"`
		} `json:"context"`
	}
	RenameParams struct {
		PositionParams
		NewName string `json:"newName"`
	}
	CodeActionParams struct {
		RangeParams
		Context struct {
			Only []string `json:"only"`
		} `json:"context"`
	}
	CancelParams struct {
		ID json.RawMessage `json:"id"`
	}
)

// Results.
type (
	InitializeResult struct {
		Capabilities map[string]any `json:"capabilities"`
		ServerInfo   struct {
			Name    string `json:"name"`
			Version string `json:"version"`
		} `json:"serverInfo"`
	}
	Hover struct {
		Contents Markup    `json:"contents"`
		Range    TextRange `json:"range"`
	}
	CompletionList struct {
		IsIncomplete bool             `json:"isIncomplete"`
		Items        []CompletionItem `json:"items"`
	}
	CompletionItem struct {
		Label            string    `json:"label"`
		Kind             int       `json:"kind"`
		Detail           string    `json:"detail,omitempty"`
		Documentation    *Markup   `json:"documentation,omitempty"`
		SortText         string    `json:"sortText,omitempty"`
		FilterText       string    `json:"filterText,omitempty"`
		InsertTextFormat int       `json:"insertTextFormat,omitempty"` // 1 text, 2 snippet
		TextEdit         *TextEdit `json:"textEdit,omitempty"`
		Tags             []int     `json:"tags,omitempty"` // 1 deprecated
	}
	PrepareRename struct {
		Range       TextRange `json:"range"`
		Placeholder string    `json:"placeholder"`
	}
	CodeAction struct {
		Title       string        `json:"title"`
		Kind        string        `json:"kind"`
		Diagnostics []Diagnostic  `json:"diagnostics,omitempty"`
		IsPreferred bool          `json:"isPreferred,omitempty"`
		Edit        WorkspaceEdit `json:"edit"`
	}
	DocumentSymbol struct {
		Name           string           `json:"name"`
		Detail         string           `json:"detail,omitempty"`
		Kind           int              `json:"kind"`
		Tags           []int            `json:"tags,omitempty"` // 1 deprecated
		Range          TextRange        `json:"range"`
		SelectionRange TextRange        `json:"selectionRange"`
		Children       []DocumentSymbol `json:"children,omitempty"`
	}
	SymbolInformation struct {
		Name     string   `json:"name"`
		Kind     int      `json:"kind"`
		Location Location `json:"location"`
	}
	FoldingRange struct {
		StartLine int    `json:"startLine"`
		EndLine   int    `json:"endLine"`
		Kind      string `json:"kind,omitempty"` // "comment" or "region"
	}
	SemanticTokens struct {
		Data []uint32 `json:"data"`
	}
)

func Pos(line, character int) Position { return Position{Line: line, Character: character} }

func Between(start, end Position) TextRange { return TextRange{Start: start, End: end} }

func Place(uri string, r TextRange) Location { return Location{URI: uri, Range: r} }
