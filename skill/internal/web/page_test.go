package web

import "testing"

// TestReadHTML converts what pages have to Markdown that says the same.
func TestReadHTML(t *testing.T) {
	for _, tt := range []struct{ html, want string }{
		{`<table><tr><th>Name</th><th>Price</th></tr><tr><td>Ann<br>Lee</td><td>20</td></tr><tr><td>Bob</td><td>30</td></tr></table>`,
			"| Name           | Price |\n|----------------|-------|\n| Ann  <br />Lee | 20    |\n| Bob            | 30    |"},
		{`<table><tr><td>a</td><td><ul><li>one</li><li>two</li></ul></td></tr><tr><td>b|c</td><td><p>2</p><p>3</p></td></tr></table>`,
			"| a    | one  <br />two |\n|------|----------------|\n| b\\|c | 2  <br />3     |"},
		{`<table><tr><td><h2>Left</h2>text</td><td>right</td><td>more</td></tr></table>`,
			"## Left\n\ntext right more"},
		{`<table><tr><td>run</td><td><pre>a  b
c</pre></td></tr></table>`,
			"| run | `a b`  <br />`c` |\n|-----|------------------|"},
		{`<table><tr><td>1.</td><td><table><tr><td>in</td><td>side</td></tr></table></td><td>x</td></tr></table>`,
			"1\\.\n\n| in | side |\n|----|------|\n\nx"},
		{`<table><tr><td><p>one</p><ul><li>two</li></ul></td></tr></table>`, "one\n\n- two"},
		{"<blockquote><p>a</p><pre>x\ny\n\n# z</pre><p>b</p></blockquote>",
			"> a\n> \n> ```\n> x\n> y\n> \n> # z\n> ```\n> \n> b"},
		{"<ul><li>a<pre>x\n# z</pre></li></ul><blockquote><ul><li>a<pre>x\n# z</pre></li></ul></blockquote>",
			"- a\n  \n  ```\n  x\n  # z\n  ```\n\n<!--THE END-->\n\n> - a\n> \n>   ```\n>   x\n>   # z\n>   ```"},
		{"<blockquote><blockquote><pre>x\n# z</pre></blockquote></blockquote>",
			"> > ```\n> > x\n> > # z\n> > ```"},
		{"<details><summary>More</summary>inner text</details>",
			"More\n\ninner text"},
		{"<label>n</label><span>m</span><fieldset><legend>L</legend>x</fieldset><figure>i<figcaption>c</figcaption></figure><dl><dt>a</dt><dd>b</dd></dl>",
			"n m\n\nL\n\nx\n\ni\n\nc\n\na\n\nb"},
		{"<p>&amp;amp; &amp;lt;b&amp;gt; AT&amp;T a &lt;b&gt; c &amp;#35; &amp;nosuch; x&amp;y=1;</p><pre>&amp;amp;</pre><p><code>&amp;amp;</code> <a href='http://a/?a=1&amp;amp=2'>l</a></p>",
			"&amp;amp; &amp;lt;b&amp;gt; AT&T a &lt;b&gt; c &amp;#35; &amp;nosuch; x&y=1;\n\n```\n&amp;\n```\n\n`&amp;` [l](http://a/?a=1&amp=2)"},
		{"<p><del>old</del> new <s>20</s> 15 <strike>x</strike> a~b ~~c~~ <ins>d</ins> H<sub>2</sub>O x<sup>2</sup></p>",
			"~~old~~ new ~~20~~ 15 ~~x~~ a\\~b \\~\\~c\\~~ d H2O x2"},
	} {
		f := Fetched{Content: tt.html, URL: "http://example.com/"}
		if err := f.readHTML(); err != nil || f.Content != tt.want {
			t.Errorf("%s\n got %q, %v\nwant %q", tt.html, f.Content, err, tt.want)
		}
	}
}
