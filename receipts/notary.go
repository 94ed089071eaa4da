package receipts

// The modes of a [Notary].
const (
	NotaryNamespaces = "namespaces" // the asker was in namespaces of its own, with the notary masked
	NotaryLandlock   = "landlock"   // the asker was in a Landlock domain
	NotaryService    = "service"    // the notary was another user
	NotaryUnguarded  = "none"       // nothing kept the asker from the notary
)
