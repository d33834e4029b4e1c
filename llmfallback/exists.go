package llmfallback

// An ending is what has to follow the noun whose existence is asked.
type ending uint8

const (
	complete ending = iota + 1 // nothing: "is there a.txt"
	existing                   // "exists", "is there"
	standing                   // "there", or a place: "is a.txt in docs"
	been                       // "been created"
)

// doubts come before what may exist.
var doubts = newBook(
	line[ending]{existing, `if|whether|that / whether or not / does|do`},
	line[ending]{complete, `if|whether|that there is|exists already? / if|whether|that there's already? / if|whether|that there already is /
		if|whether|that i|we already|still? have|own already? / if|whether|that i've|we've got|already? / if|whether|that there actually|really exists /
		for? the? existence|presence of / for / exists / is|are there already|still|currently|actually|really? any? / is there anything|something at / does anything|something exist at / do|did i|we already|still|currently? have / have i|we already? got`},
	line[ending]{standing, `is|are`},
	line[ending]{been, `has|have`},
)

var endings = newBook(
	line[ending]{existing, `already|still|currently|actually|even|really|indeed? exists|exist|existed already? /
		is|are already|still|currently|really|actually|indeed? there|present|available|around|existing / is|are in existence / exists|exist or not / for existence`},
	line[ending]{standing, `already|still|currently|actually|even|really? there|present|available|around|existing|here / already|still|currently? in existence`},
	line[ending]{been, `already|yet? been already|yet? created|made|saved|written|added already|yet?`},
)

// checking reads what may or may not exist.
func (r *reader) checking(f *frame, i int) int {
	f.op = "fileExists"
	want, next := match(r, doubts(), i)
	if next > 0 {
		i = next
	}
	n, next := r.noun(i)
	if next > 0 && want == existing && (n.kind == someDir && n.name != "" || n.kind == workspace) { // does the docs folder have a.txt
		if k := r.skip(next, "already", "still"); r.any(k, "contain", "have", "include", "hold", "contains", "has") {
			f.roles[inRole], i = n, k+1
			n, next = r.noun(i)
			want = complete
		}
	}
	if next < 0 || n.kind == mentioned || n.kind == workspace || n.bare && n.head == 0 || n.extra > 0 && (n.name == "" || n.head == 0) || n.head == 0 && !n.oneName() {
		return -1
	}
	f.object = n
	is := want == standing || r.any(next, "is") // whether a.txt is in docs
	placed := false
	if place, after := r.placed(r.skip(next, "is")); after > 0 && n.name != "" { // a.txt in docs exists
		f.roles[inRole], next, placed = place, after, true
	}
	end, after := match(r, endings(), next)
	switch {
	case after > 0 && (end == want || end == existing && want != standing && want != been):
		return after
	case want == complete && n.name != "", placed && is && (want == existing || want == standing):
		return next
	}
	return -1
}
