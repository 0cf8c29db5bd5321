import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { escape } from "../../viewer/src/groups/message/Escape.ts"
import { highlight } from "../../viewer/src/groups/message/Highlight.ts"
import { toHtml } from "../../viewer/src/groups/message/MarkdownHtml.ts"

const html = (text: string): string => {
  const html = toHtml(text)
  assert.isNotNull(html)
  return html.trim()
}

describe("markdown.toHtml", () => {
  it("shows tags of the author as the text they are", () => {
    assert.strictEqual(html("<answer>**4**</answer>"), "<p>&lt;answer&gt;<strong>4</strong>&lt;/answer&gt;</p>")
    for (const tag of [
      "<script>alert(1)</script>",
      "<img src=x onerror=y>",
      "<div>\n\n<!-- c -->",
      "<pre>x",
      "<?php",
      "<![CDATA[x"
    ]) {
      assert.notMatch(html(tag).replaceAll(/<\/?(?:p|br)>/g, ""), /</, tag)
    }
  })

  it("links to web and mail addresses, and shows other addresses", () => {
    assert.include(html("[a](https://example.com)"), '<a href="https://example.com" target="_blank" rel="noopener')
    for (const address of [
      "javascript:alert(1)",
      "data:text/html,x",
      "#/groups",
      "vbscript:x",
      "JAVASCRIPT:x",
      "//example.com"
    ]) {
      const shown = html(`[label](${address})`)
      assert.notInclude(shown, "<a ")
      assert.include(shown, `label <code>${escape(address)}</code>`)
    }
    assert.notInclude(html("<javascript:alert(1)>"), "<a ")
  })

  it("shows pictures by their bytes, and names others", () => {
    assert.include(html("![a](data:image/png;base64,AAAA)"), '<img src="data:image/png;base64,AAAA" alt="a">')
    assert.strictEqual(
      html("![a](https://example.com/x.png)"),
      '<p><span class="image-absent">a: https://example.com/x.png (not loaded)</span></p>'
    )
  })

  it("draws formulas in all four ways of writing them", () => {
    for (const text of ["$x^2$", "\\(x^2\\)", "$$x^2$$", "\\[\nx^2\n\\]", "\\begin{align}\nx^2\n\\end{align}"]) {
      assert.match(html(text), /<math/, text)
    }
  })

  it("draws an answer's box where nobody wrote dollars around it, and leaves words in it apart", () => {
    const drawn = (text: string) => [...html(text).matchAll(/<math/g)].length
    assert.strictEqual(drawn("so \\boxed{4} is $\\boxed{4}$"), 2)
    assert.strictEqual(drawn("\\boxed{\\frac{1}{2}} and \\boxed{x_{1}}."), 2)
    assert.match(html("\\boxed{two thirds of 50%}"), /<mtext>two\s+thirds\s+of\s+50%<\/mtext>/)
    for (const text of ["`\\boxed{4}`", "in \\boxed{}", "\\boxed{4", "\\boxedx"])
      assert.strictEqual(drawn(text), 0, text)
  })

  it("leaves money alone", () => {
    for (const text of ["$5 and $6", "a $ b $ c", "$"]) assert.notMatch(html(text), /<math/, text)
  })

  it("shows formulas that cannot be read as they were written", () => {
    for (const tex of ["$\\frac{1}{$", "$\\nosuch{x}$", "$\\href{javascript:alert(1)}{x}$", "$\\def\\a{\\a\\a}\\a$"]) {
      const shown = html(tex)
      assert.notMatch(shown, /<math/, tex)
      assert.include(shown, escape(tex))
    }
  })

  it("does not begin to read what would take long", () => {
    for (const text of [
      "*a_".repeat(8000),
      `${"> ".repeat(59)}>`,
      `>${">   >".repeat(45)}`,
      "$".repeat(24_000),
      "> ".repeat(12_000),
      "\\[\n".repeat(8000)
    ]) {
      assert.isNull(toHtml(text))
    }
  })

  const marks = [
    "*",
    "_",
    "`",
    "[",
    "](",
    ")",
    "<",
    ">",
    "&",
    "$",
    "\\",
    "\n",
    " ",
    "a",
    "#",
    "|",
    "-",
    "!",
    '"',
    "'",
    "javascript:"
  ]
  it.prop("lets no tag of the author through", [Schema.Array(Schema.Literals(marks))], ([parts]) => {
    const found = Array.from((toHtml(parts.join("")) ?? "").matchAll(/<(\/?[^\s>]*)([^>]*)>/g))
    for (const [tag, name = "", attributes = ""] of found) {
      assert.match(
        name,
        /^\/?(?:p|br|em|strong|code|pre|ul|ol|li|h[4-6]|hr|blockquote|table|thead|tbody|tr|t[hd]|del|a|img|span|div|math|semantics|annotation|m[a-z]+)\/?$/,
        tag
      )
      const given = Array.from(attributes.matchAll(/\s+([^\s=]+)(?:="([^"]*)")?/g))
      assert.strictEqual(given.map(([whole]) => whole).join(""), attributes.replace(/\s*\/?$/, ""), tag)
      for (const [, attribute = "", value = ""] of given) {
        assert.notMatch(attribute, /^on|style/i, tag)
        // A title says what was wrong with a formula in the author's words: text, which nothing follows.
        if (attribute !== "title") assert.notMatch(value, /javascript:/i, tag)
      }
    }
  })
})

describe("highlight", () => {
  it("marks the syntax of languages it knows, by any of their names", () => {
    assert.include(highlight("def f(): pass", "python"), '<span class="hljs-keyword">def</span>')
    assert.include(highlight("const a = 1", "js"), "hljs-keyword")
  })

  it("leaves others plain, and every character escaped", () => {
    assert.strictEqual(highlight("<b>&", "brainfuck"), "&lt;b&gt;&amp;")
    assert.notInclude(highlight("'</code><script>'", "python"), "<script")
  })
})
