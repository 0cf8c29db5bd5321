import { assert, describe, it } from "@effect/vitest"
import { Result, Schema } from "effect"
import * as RolloutText from "@atropos/api/rollout/RolloutText"
import { PackedGroup, WireGroup } from "@atropos/core"
import { appendFileSync, mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import * as LineIndex from "../../src/view/LineIndex.ts"
import type * as LineSearch from "../../src/view/LineSearch.ts"
import * as OrderedGroups from "../../../api/test/store/OrderedGroups.ts"
import * as SampleGroups from "../sets/SampleGroups.ts"

/** Runs a test over an index of a file in a folder of its own. */
const over = (content: string, test: (index: LineIndex.LineIndex, file: string) => void): void => {
  const folder = mkdtempSync(join(tmpdir(), "atropos-index-"))
  const file = join(folder, "groups.jsonl")
  writeFileSync(file, content)
  const index = LineIndex.open([file])
  look(index)
  try {
    test(index, file)
  } finally {
    index.close()
    rmSync(folder, { recursive: true })
  }
}

const look = (index: LineIndex.LineIndex): ReadonlyArray<number> => {
  const grown = new Set<number>()
  for (let isDone = false; !isDone;) {
    const scanned = index.scan(1000)
    scanned.grown.forEach((file) => grown.add(file))
    isDone = scanned.isDone
  }
  return [...grown]
}

const readAll = (index: LineIndex.LineIndex): void => {
  while (index.read(1000));
}

const numbers = ({ rows }: LineSearch.IndexedPage) => rows.map(({ number }) => number)
const query = (text: string) => ({ text: RolloutText.parse(text)!, limit: 1000 })

/** As `evaluate`, evaluations during training, and the original's write them. */
const samples = [
  {
    item: 0,
    label: "2 + 2",
    score: 1,
    correct: true,
    completion: "four",
    finish_reason: "stop",
    tokens: 3,
    messages: [
      { role: "user", content: "2 + 2?" },
      { role: "assistant", content: "four" }
    ]
  },
  {
    item: "3 + 3",
    score: 0,
    correct: false,
    finish_reason: "length",
    tokens: 3,
    messages: [
      { role: "user", content: "3 + 3?" },
      { role: "assistant", content: "five" }
    ]
  },
  { messages: [{ role: "user", content: "1?" }], question: "1?", gold_answer: "1", score: 0.5, correct: false }
]

describe("LineIndex", () => {
  it("shows each sample of an evaluation as a group of one, found by its words", () => {
    over(samples.map((sample) => `${JSON.stringify(sample)}\n`).join(""), (index) => {
      readAll(index)
      const { rows, total } = index.page(0, { limit: 10 })
      assert.strictEqual(total, 3)
      assert.deepStrictEqual(
        rows.map(({ preview, scores }) => [preview, scores]),
        [
          ["1?", [0.5]],
          ["3 + 3?", [0]],
          ["2 + 2?", [1]]
        ]
      )
      assert.deepStrictEqual(numbers(index.page(0, query("five"))), [2])
      const group = Result.getOrThrow(PackedGroup.decode(index.group(0, 2)!.packed))
      assert.deepStrictEqual(group.overrides, [{ item: "3 + 3", correct: false, finish_reason: "length" }])
      assert.deepStrictEqual(index.news(), { faults: [], notes: [] })
    })
  })

  it("shows the newest lines first, before they have been their turn to be read", () => {
    over(SampleGroups.lines(30), (index) => {
      const page = index.page(0, { limit: 3 })
      assert.deepStrictEqual(numbers(page), [30, 29, 28])
      assert.deepInclude(page, { next: 28, total: 30, unindexed: 26 })
      assert.deepInclude(page.rows[0], {
        sequences: 4,
        scores: [1, 0.5, 0, -1],
        preview: "What is 29 + 29?",
        envId: null,
        policyStep: null
      })
      const second = index.page(0, { limit: 28, before: page.next! })
      assert.deepStrictEqual(
        numbers(second),
        Array.from({ length: 27 }, (_, at) => 27 - at)
      )
      assert.deepInclude(second, { next: null, total: null })
      readAll(index)
      assert.strictEqual(index.page(0, { limit: 1 }).unindexed, 0)
    })
  })

  it("filters and orders them as the service does", () => {
    over(OrderedGroups.groups.map((group) => `${WireGroup.encode(group)}\n`).join(""), (index) => {
      readAll(index)
      for (const [asked, expected] of OrderedGroups.questions) {
        const [first, second] = [index.page(0, { ...asked, limit: 3 }), index.page(0, { ...asked, limit: 9 })]
        assert.deepStrictEqual(numbers(second), [...expected], JSON.stringify(asked))
        assert.strictEqual(first.total, expected.length)
        if (first.next === null) continue
        const rest = index.page(0, { ...asked, limit: 9, before: first.next })
        assert.deepStrictEqual([...numbers(first), ...numbers(rest)], [...expected], JSON.stringify(asked))
      }
    })
  })

  it("gives the group of a line as it was saved", () => {
    over(SampleGroups.lines(3), (index) => {
      const found = index.group(0, 2)
      assert.deepInclude(found?.row, { number: 2, preview: "What is 1 + 1?" })
      const group = PackedGroup.decode(found!.packed)
      assert.isTrue("success" in group)
      if ("success" in group) assert.strictEqual(`${WireGroup.encode(group.success)}\n`, SampleGroups.lines(1, 1))
      assert.isUndefined(index.group(0, 4))
    })
  })

  it("tells lines that are no groups by their number, and leaves them out", () => {
    const [one] = SampleGroups.lines(1).split("\n")
    over(`${one}\n{\n\n[]\n${one}\n`, (index, file) => {
      readAll(index)
      assert.deepStrictEqual(numbers(index.page(0, { limit: 10 })), [5, 1])
      assert.strictEqual(index.page(0, { limit: 10 }).total, 2)
      const { faults } = index.news()
      assert.lengthOf(faults, 2)
      assert.include(faults[0], `${file}, line 4: is an array; expected a scored group`)
      assert.include(faults[1], `${file}, line 2: is not JSON`)
      assert.deepStrictEqual(index.news(), { faults: [], notes: [] })
      assert.isUndefined(index.group(0, 2))
    })
  })

  it("filters by mean score and by words", () => {
    const groups = [
      SampleGroups.sum(1, [["alpha beta", 1]]),
      SampleGroups.sum(2, [["alphabet", 0.5]]),
      SampleGroups.sum(3, [["beta alpha", 0]])
    ]
    over(groups.map((group) => `${WireGroup.encode(group)}\n`).join(""), (index) => {
      readAll(index)
      assert.deepStrictEqual(numbers(index.page(0, { limit: 10, scoreFrom: 0.5 })), [2, 1])
      assert.deepStrictEqual(numbers(index.page(0, { limit: 10, scoreTo: 0.4 })), [3])
      assert.deepStrictEqual(numbers(index.page(0, query("alph"))), [3, 2, 1])
      assert.deepStrictEqual(numbers(index.page(0, query('"alpha"'))), [3, 1])
      assert.deepStrictEqual(numbers(index.page(0, query('"alpha beta"'))), [1])
      assert.deepStrictEqual(numbers(index.page(0, { ...query("beta"), scoreTo: 0.5 })), [3])
      // A phrase does not go from one message into the next.
      assert.deepStrictEqual(numbers(index.page(0, query('"3 + 3 beta"'))), [])
      // Files know no steps and no environments.
      assert.deepStrictEqual(numbers(index.page(0, { limit: 10, stepFrom: 0 })), [])
      const page = index.page(0, { ...query("alph"), limit: 2 })
      assert.deepInclude(page, { next: 2, total: 3 })
      assert.deepStrictEqual(numbers(index.page(0, { ...query("alph"), limit: 2, before: 2 })), [1])
    })
  })

  it("sees lines that come, one that is being written once it is whole, and another file under the name", () => {
    const [one = ""] = SampleGroups.lines(1).split("\n")
    over(`${one}\n${one.slice(0, 40)}`, (index, file) => {
      assert.deepStrictEqual(numbers(index.page(0, { limit: 10 })), [1])
      assert.deepStrictEqual(look(index), [])
      // Told once, where nobody went on with it.
      assert.match(index.news().notes.join(), /groups\.jsonl, line 2: unterminated: truncated, or still being written/)
      look(index)
      assert.deepStrictEqual(index.news().notes, [])
      appendFileSync(file, one.slice(40))
      assert.deepStrictEqual(look(index), [0])
      assert.deepStrictEqual(numbers(index.page(0, { limit: 10 })), [2, 1])
      appendFileSync(file, `\n${one}\n`)
      assert.deepStrictEqual(look(index), [0])
      assert.deepStrictEqual(numbers(index.page(0, { limit: 10 })), [3, 2, 1])
      readAll(index)
      assert.deepStrictEqual(index.news().faults, [])
      writeFileSync(`${file}.new`, SampleGroups.lines(1, 7))
      renameSync(`${file}.new`, file)
      look(index)
      assert.deepStrictEqual(
        index.page(0, { limit: 10 }).rows.map(({ preview }) => preview),
        ["What is 7 + 7?"]
      )
      readAll(index)
      assert.deepStrictEqual(numbers(index.page(0, query('"0 + 0"'))), [])
      assert.deepStrictEqual(numbers(index.page(0, query('"7 + 7"'))), [1])
      // Shortened in place.
      writeFileSync(file, "")
      look(index)
      assert.deepStrictEqual(numbers(index.page(0, { limit: 10 })), [])
    })
  })

  const word = Schema.Literals(["ab", "abc", "a", "b", "x1", "Ü", "日本", "don't", "3.5", "\\frac{1}{2}"])
  const saying = Schema.Array(word)
  it.prop(
    "finds what the search of the service finds",
    [Schema.Array(Schema.Array(saying)), saying, Schema.Boolean],
    ([chats, wanted, isQuoted]) => {
      const text = isQuoted ? `"${wanted.join(" ")}"` : wanted.join(" ")
      const terms = RolloutText.parse(text)
      if (terms === undefined || chats.length === 0) return
      const messages = chats.map((chat) => chat.map((words) => ({ role: "user", content: words.join(" ") })))
      const content = messages.map((chat) => `${JSON.stringify({ scores: [1], messages: [chat] })}\n`).join("")
      over(content, (index) => {
        readAll(index)
        const expected = messages.flatMap((chat, at) =>
          RolloutText.matches(terms, RolloutText.ofMessages([chat])) ? [at + 1] : []
        )
        assert.deepStrictEqual(numbers(index.page(0, { text: terms, limit: 1000 })), expected.toReversed())
      })
    },
    { arbitrary: { runs: 60 } }
  )
})
