/** The documentation site: it builds from the repository as it is, and every link of it leads somewhere. */
import { assert, describe, it } from "@effect/vitest"
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import * as Site from "../../../../scripts/internal/Site.ts"
import * as SiteSearch from "../../../../scripts/internal/SiteSearch.ts"

/** What people search for, and the section that must come first. */
const queries: ReadonlyArray<readonly [query: string, section: string]> = [
  ["resume", "training.html#checkpoints-resuming-acknowledgements"],
  ["checkpoint", "training.html#checkpoints-resuming-acknowledgements"],
  ["wandb", "metrics.html#weights--biases"],
  ["tensorboard", "metrics.html#metrics-and-traces"],
  ["multi gpu", "engines.html#several-machines"],
  ["OOM", "training.html#memory-and-speed"],
  ["lora", "training.html#adapter-or-all-weights"],
  ["reward does not rise", "reward-does-not-rise.html#the-reward-does-not-rise"],
  ["vllm", "engines.html#vllm-in-the-same-command"],
  ["openai agent", "agents.html#openai-agents-sdk"],
  ["claude code", "coding-agents.html#training-a-coding-agent"],
  ["kubernetes", "cluster.html#kubernetes"],
  ["slurm", "cluster.html#slurm"],
  ["datasets", "data-sets.html#data-sets"],
  ["dashboard", "viewer.html#the-viewer"],
  ["install", "installing.html#installing-and-embedding"],
  ["staleness", "training.html#staleness"],
  ["python environment", "python.html#environments-of-python-packages"],
  ["quantize", "models.html#memory-and-speed"],
  ["which tokenizer?", "faq.html#which-tokenizer"],
  ["a million groups", "operations.html#a-million-groups"]
]

/** The sections that the site's search knows. */
const searched = (out: string): ReadonlyArray<SiteSearch.Entry> => {
  const [line = ""] = readFileSync(join(out, "search.js"), "utf8").split("\n")
  return JSON.parse(line.slice("const entries = ".length)) as ReadonlyArray<SiteSearch.Entry>
}

const root = fileURLToPath(new URL("../../../../", import.meta.url))

describe("the documentation site", () => {
  it("has every page, with navigation, a search that ranks guides first and steps to the next page, needs no network, and no link of it leads nowhere", () => {
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
      const entries = searched(out)
      for (const [query, expected] of queries) {
        const [first] = SiteSearch.find(entries, query)
        assert.strictEqual(first?.entry.url, `docs/${expected}`, query)
        assert.isAtMost(first!.excerpt.length, 160, query)
      }
      assert.deepStrictEqual(SiteSearch.find(entries, "zyzzyva"), [])
      const [, example = ""] =
        /href="\.\.\/(results\/[^"]*rollouts[^"]*)"/.exec(readFileSync(join(out, "docs/results.html"), "utf8")) ?? []
      assert.include(readFileSync(join(out, example), "utf8"), '<script id="atropos-data"')
      const guide = readFileSync(join(out, "docs/losses.html"), "utf8")
      assert.include(guide, '<a rel="prev" href="../docs/results.html">← ')
      assert.include(guide, '<a rel="next" href="../docs/models.html">')
      assert.notInclude(guide, "og:image")
      // What leads nowhere is told.
      writeFileSync(join(out, "odd.html"), '<a href="docs/none.html">none</a><a href="index.html#nowhere">heading</a>')
      assert.deepStrictEqual(Site.broken(out), ["odd.html: docs/none.html", "odd.html: index.html#nowhere"])
    } finally {
      rmSync(out, { recursive: true })
    }
  })
})
