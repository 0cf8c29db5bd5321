/** The documentation site: it builds from the repository as it is, and every link of it leads somewhere. */
import { assert, describe, it } from "@effect/vitest"
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import * as Site from "../../../../scripts/internal/Site.ts"

const root = fileURLToPath(new URL("../../../../", import.meta.url))

describe("the documentation site", () => {
  it("has every page, with navigation and search, needs no network, and no link of it leads nowhere", () => {
    const out = mkdtempSync(join(tmpdir(), "atropos-site-"))
    try {
      const pages = Site.build(root, out)
      assert.include(pages, "index.html")
      assert.include(pages, "docs/operations.html")
      assert.deepStrictEqual(Site.broken(out), [])
      for (const page of pages) {
        const html = readFileSync(join(out, page), "utf8")
        assert.notMatch(html, /<(?:script|link|img)[^>]* (?:src|href)="https?:/, page)
        assert.include(html, 'id="search"')
      }
      assert.include(readFileSync(join(out, "search.js"), "utf8"), "docs/operations.html#a-million-groups")
      // What leads nowhere is told.
      writeFileSync(join(out, "odd.html"), '<a href="docs/none.html">none</a><a href="index.html#nowhere">heading</a>')
      assert.deepStrictEqual(Site.broken(out), ["odd.html: docs/none.html", "odd.html: index.html#nowhere"])
    } finally {
      rmSync(out, { recursive: true })
    }
  })
})
