package lsp

import (
	"encoding/json"

	"github.com/command-dialect/dialect/lang/diag/output"
)

// The types of the Language Server Protocol 3.17 that this server speaks, and no others; their
// names and fields are those of the specification. Positions are 0-based, and characters count
// UTF-16 code units.

type (
	// Those of a diagnostic are the ones that `dialect check --lsp-lite` writes.
	position       = output.Position
	textRange      = output.Range
	location       = output.Location
	diagnostic     = output.Diagnostic
	relatedMessage = output.Related

	locationLink struct {
		OriginSelectionRange textRange `json:"originSelectionRange"`
		TargetURI            string    `json:"targetUri"`
		TargetRange          textRange `json:"targetRange"`
		TargetSelectionRange textRange `json:"targetSelectionRange"`
	}
	textDocument struct {
		URI     string `json:"uri"`
		Version int    `json:"version,omitempty"`
	}
	textEdit struct {
		Range   textRange `json:"range"`
		NewText string    `json:"newText"`
	}
	workspaceEdit struct {
		Changes map[string][]textEdit `json:"changes"`
	}
	markup struct {
		Kind  string `json:"kind"` // "markdown"
		Value string `json:"value"`
	}
)

// Diagnostics.
type (
	publishParams struct {
		URI         string       `json:"uri"`
		Version     *int         `json:"version,omitempty"`
		Diagnostics []diagnostic `json:"diagnostics"`
	}
	diagnosticReport struct {
		Kind     string        `json:"kind"` // "full" or "unchanged"
		ResultID string        `json:"resultId"`
		Items    *[]diagnostic `json:"items,omitempty"` // of a full report
	}
)

// Requests and notifications.
type (
	initializeParams struct {
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
	didOpenParams struct {
		TextDocument struct {
			URI        string `json:"uri"`
			LanguageID string `json:"languageId"`
			Version    int    `json:"version"`
			Text       string `json:"text"`
		} `json:"textDocument"`
	}
	contentChange struct {
		Range *textRange `json:"range"`
		Text  string     `json:"text"`
	}
	didChangeParams struct {
		TextDocument   textDocument    `json:"textDocument"`
		ContentChanges []contentChange `json:"contentChanges"`
	}
	documentParams struct {
		TextDocument textDocument `json:"textDocument"`
	}
	positionParams struct {
		TextDocument textDocument `json:"textDocument"`
		Position     position     `json:"position"`
	}
	rangeParams struct {
		TextDocument textDocument `json:"textDocument"`
		Range        textRange    `json:"range"`
	}
	diagnosticParams struct {
		TextDocument     textDocument `json:"textDocument"`
		PreviousResultID string       `json:"previousResultId"`
	}
	referenceParams struct {
		positionParams
		Context struct {
			IncludeDeclaration bool `json:"includeDeclaration"`
		} `json:"context"`
	}
	renameParams struct {
		positionParams
		NewName string `json:"newName"`
	}
	codeActionParams struct {
		rangeParams
		Context struct {
			Only []string `json:"only"`
		} `json:"context"`
	}
	cancelParams struct {
		ID json.RawMessage `json:"id"`
	}
)

// Results.
type (
	initializeResult struct {
		Capabilities map[string]any `json:"capabilities"`
		ServerInfo   struct {
			Name    string `json:"name"`
			Version string `json:"version"`
		} `json:"serverInfo"`
	}
	hover struct {
		Contents markup    `json:"contents"`
		Range    textRange `json:"range"`
	}
	completionList struct {
		IsIncomplete bool             `json:"isIncomplete"`
		Items        []completionItem `json:"items"`
	}
	completionItem struct {
		Label            string    `json:"label"`
		Kind             int       `json:"kind"`
		Detail           string    `json:"detail,omitempty"`
		Documentation    *markup   `json:"documentation,omitempty"`
		SortText         string    `json:"sortText,omitempty"`
		FilterText       string    `json:"filterText,omitempty"`
		InsertTextFormat int       `json:"insertTextFormat,omitempty"` // 1 text, 2 snippet
		TextEdit         *textEdit `json:"textEdit,omitempty"`
		Tags             []int     `json:"tags,omitempty"` // 1 deprecated
	}
	prepareRename struct {
		Range       textRange `json:"range"`
		Placeholder string    `json:"placeholder"`
	}
	codeAction struct {
		Title       string        `json:"title"`
		Kind        string        `json:"kind"`
		Diagnostics []diagnostic  `json:"diagnostics,omitempty"`
		IsPreferred bool          `json:"isPreferred,omitempty"`
		Edit        workspaceEdit `json:"edit"`
	}
	documentSymbol struct {
		Name           string           `json:"name"`
		Detail         string           `json:"detail,omitempty"`
		Kind           int              `json:"kind"`
		Tags           []int            `json:"tags,omitempty"` // 1 deprecated
		Range          textRange        `json:"range"`
		SelectionRange textRange        `json:"selectionRange"`
		Children       []documentSymbol `json:"children,omitempty"`
	}
	symbolInformation struct {
		Name     string   `json:"name"`
		Kind     int      `json:"kind"`
		Location location `json:"location"`
	}
	foldingRange struct {
		StartLine int    `json:"startLine"`
		EndLine   int    `json:"endLine"`
		Kind      string `json:"kind,omitempty"` // "comment" or "region"
	}
	semanticTokens struct {
		Data []uint32 `json:"data"`
	}
)

func pos(line, character int) position { return position{Line: line, Character: character} }

func between(start, end position) textRange { return textRange{Start: start, End: end} }

func place(uri string, r textRange) location { return location{URI: uri, Range: r} }
