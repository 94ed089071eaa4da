package mcpserver

// Decodes is decode for tests.
func Decodes(text []byte, schema string) bool {
	var v struct{ Schema string }
	return decode(text, &v, schema)
}
