package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"strings"

	cdx "github.com/CycloneDX/cyclonedx-go"
)

// sbom returns the bill of materials of the program at path, of which version is the release. It has no time and no serial number,
// which would make two of the same program differ. The program has its SHA-256. The hashes of modules are those of go.sum ("h1:", a
// SHA-256 over the names and hashes of the module's files); CycloneDX has no such digest, so they are properties. The standard library
// is a component like a module, under the name that vulnerabilities of it are listed by.
func sbom(path, version string) ([]byte, error) {
	info, modules, err := linked(path)
	if err != nil {
		return nil, err
	}
	program, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	digest := sha256.Sum256(program)
	known, err := licences(modules)
	if err != nil {
		return nil, err
	}
	setting := func(key string) string {
		for _, s := range info.Settings {
			if s.Key == key {
				return s.Value
			}
		}
		return ""
	}
	properties := []cdx.Property{{Name: "go:version", Value: info.GoVersion}}
	for _, key := range []string{"GOOS", "GOARCH", "CGO_ENABLED", "-trimpath"} {
		if v := setting(key); v != "" {
			properties = append(properties, cdx.Property{Name: "go:" + key, Value: v})
		}
	}
	purl := func(path, version string) string { return "pkg:golang/" + path + "@" + version }
	own := purl(info.Main.Path, version)

	bom := cdx.NewBOM()
	bom.Metadata = &cdx.Metadata{Component: &cdx.Component{
		BOMRef: own, Type: cdx.ComponentTypeApplication, Name: info.Path, Version: version, PackageURL: own,
		Hashes:   &[]cdx.Hash{{Algorithm: cdx.HashAlgoSHA256, Value: hex.EncodeToString(digest[:])}},
		Licenses: &cdx.Licenses{{License: &cdx.License{ID: "MIT"}}}, Properties: &properties,
	}}
	std := purl("std", strings.TrimPrefix(info.GoVersion, "go"))
	components, needs := []cdx.Component{{
		BOMRef: std, Type: cdx.ComponentTypeLibrary, Name: "std", Version: strings.TrimPrefix(info.GoVersion, "go"), PackageURL: std,
		Licenses: &cdx.Licenses{{License: &cdx.License{ID: "BSD-3-Clause"}}},
	}}, []string{std}
	for _, m := range modules {
		ref := purl(m.Path, m.Version)
		var ids cdx.Licenses
		for _, id := range known[m.Path] {
			ids = append(ids, cdx.LicenseChoice{License: &cdx.License{ID: id}})
		}
		components = append(components, cdx.Component{
			BOMRef: ref, Type: cdx.ComponentTypeLibrary, Name: m.Path, Version: m.Version, PackageURL: ref, Licenses: &ids,
			Properties: &[]cdx.Property{{Name: "go:sum", Value: m.Sum}},
		})
		needs = append(needs, ref)
	}
	bom.Components = &components
	bom.Dependencies = &[]cdx.Dependency{{Ref: own, Dependencies: &needs}}
	var out bytes.Buffer
	err = cdx.NewBOMEncoder(&out, cdx.BOMFileFormatJSON).SetPretty(true).Encode(bom)
	return out.Bytes(), err
}
