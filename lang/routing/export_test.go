package routing

// KnownKeys are the keys of each table, for tests.
var KnownKeys = map[string][]string{
	"": fileKeys, "verify": verifyKeys, "defaults": defaultKeys, "limits": limitKeys, "aliases": aliasKeys,
	"commands.a": bindingKeys, "commands.a.expect": expectKeys, "servers.a": serverKeys, "agents.a": agentKeys,
}
