package llmfallback

// An Extraction is one file operation as it was understood. A value that was
// not stated is "".
type Extraction struct {
	Operation, Path, Content, Destination string
	HasContent                            bool // content was stated, possibly as the empty text
}
