/** Tests the search for groups in a store: by words, by properties, one by one. */
import { assert } from "@effect/vitest"
import { Effect, Option, Random } from "effect"
import * as RolloutText from "../../src/rollout/RolloutText.ts"
import * as RolloutReader from "../../src/store/RolloutReader.ts"
import * as SampleGroups from "../SampleGroups.ts"
import * as OrderedGroups from "./OrderedGroups.ts"
import { chats, chatSubmission, indexed, search } from "./ChatGroups.ts"
import { environment, started, trainer, type StoreTests } from "./StoreValues.ts"

export const searches = (it: StoreTests): void => {
  it.effect("filters and orders groups by what is in them, page by page", () =>
    Effect.gen(function* () {
      const { reader, run, store } = yield* started()
      for (const group of OrderedGroups.groups) yield* store.submit(run, [chatSubmission(group)])
      yield* indexed(run)
      const ids = (yield* reader.rollouts(run, { limit: 10 })).rows.map(({ id }) => id).toReversed()
      const placesOf = (rows: ReadonlyArray<{ readonly id: string }>) => rows.map(({ id }) => 1 + ids.indexOf(id))
      for (const [asked, expected] of OrderedGroups.questions) {
        const found: Array<number> = []
        let page = yield* reader.rollouts(run, { ...asked, limit: 2 })
        assert.strictEqual(page.total, expected.length, JSON.stringify(asked))
        for (;;) {
          found.push(...placesOf(page.rows))
          if (page.next === null) break
          page = yield* reader.rollouts(run, { ...asked, limit: 2, before: page.next })
        }
        assert.deepStrictEqual(found, [...expected], JSON.stringify(asked))
      }
      const [last] = (yield* reader.rollouts(run, { limit: 1 })).rows
      assert.deepInclude(last!.figures, {
        length: 6,
        longestBest: 7,
        truncated: 1,
        toolErrors: 2,
        components: { clear: 0.5 },
        expected: "a page of facts"
      })
      assert.strictEqual(last!.figures!.lengths.length, last!.scores.length)
      assert.strictEqual(last!.figures!.answers.length, last!.scores.length)
      const item = last!.figures!.prompt!
      assert.match(item, /^~[0-9a-f]{16}$/)
      assert.deepStrictEqual(placesOf((yield* reader.rollouts(run, { item, limit: 9 })).rows), [5])
      assert.strictEqual((yield* reader.rollouts(run, { state: "consumed", limit: 9 })).total, 0)
      assert.strictEqual((yield* reader.rollouts(run, { state: "queued", limit: 9 })).total, 5)
    })
  )

  it.effect("orders groups by staleness, state and item, and bounds their staleness; what is unknown comes last", () =>
    Effect.gen(function* () {
      const { reader, run, store } = yield* started(2)
      const send = (policyStep: number | null, itemId?: string) =>
        store.submit(run, [
          chatSubmission(SampleGroups.plain(2), {
            policyStep,
            hasMessages: false,
            ...(itemId !== undefined && { itemId })
          })
        ])
      // One of step 4, consumed; one of step 5, leased; then two that are queued.
      yield* send(3, "c")
      yield* store.ack(Option.getOrThrow(yield* store.claim(run, trainer)))
      yield* send(1, "a")
      yield* store.claim(run, trainer)
      yield* send(0, "b")
      yield* send(null)
      const ids = (yield* reader.rollouts(run, { limit: 9 })).rows.map(({ id }) => id).toReversed()
      const asked: ReadonlyArray<readonly [Partial<RolloutReader.RolloutFilter>, ReadonlyArray<number>]> = [
        [{ sort: "staleness" }, [2, 1, 4, 3]],
        [{ sort: "staleness", order: "ascending" }, [1, 2, 4, 3]],
        [{ sort: "state" }, [1, 2, 4, 3]],
        [{ sort: "state", order: "ascending" }, [4, 3, 2, 1]],
        [{ sort: "item" }, [1, 3, 2, 4]],
        [{ sort: "item", order: "ascending" }, [2, 3, 1, 4]],
        [{ stalenessFrom: 2 }, [2]],
        [{ stalenessTo: 1 }, [1]],
        [{ stalenessFrom: 1, stalenessTo: 4, sort: "item", order: "ascending" }, [2, 1]],
        [{ item: "b" }, [3]]
      ]
      for (const [filter, expected] of asked) {
        const { rows, total } = yield* reader.rollouts(run, { ...filter, limit: 9 })
        const places = rows.map(({ id }) => 1 + ids.indexOf(id))
        assert.deepStrictEqual([places, total], [[...expected], expected.length], JSON.stringify(filter))
      }
    })
  )

  it.effect("tells what is not searched yet, and then finds it; shows its beginning at once", () =>
    Effect.gen(function* () {
      const { reader, run, store } = yield* started()
      yield* store.submit(run, [
        chatSubmission(chats("What is 6 times 7?", "It is \\boxed{42}", "Perhaps 41")),
        chatSubmission(SampleGroups.plain(2), { hasMessages: false }),
        chatSubmission(chats("Who wrote it?", "Nobody", "Somebody"), { hasMessages: true })
      ])
      const before = yield* reader.rollouts(run, { limit: 10 })
      assert.deepStrictEqual([before.total, before.unindexed], [3, 2])
      assert.deepStrictEqual(
        before.rows.map(({ preview }) => preview),
        ["Who wrote it?", null, "What is 6 times 7?"]
      )
      assert.strictEqual((yield* search(run, "wrote")).total, 0)
      yield* indexed(run)
      const { rows } = yield* reader.rollouts(run, { limit: 10 })
      assert.deepStrictEqual(
        rows.map(({ preview }) => preview),
        ["Who wrote it?", null, "What is 6 times 7?"]
      )
      for (const [text, expected] of [
        ["nob", ["Who wrote it?"]],
        ["it", ["Who wrote it?", "What is 6 times 7?"]],
        ["perhaps times", ["What is 6 times 7?"]],
        ['"6 times"', ["What is 6 times 7?"]],
        ['"times 6"', []],
        ["\\boxed{42}", ["What is 6 times 7?"]],
        ["\\boxed{41}", []],
        ["nowhere", []]
      ] as const) {
        const page = yield* search(run, text)
        assert.deepStrictEqual(
          page.rows.map(({ preview }) => preview),
          [...expected],
          text
        )
        assert.strictEqual(page.total, expected.length)
      }
    })
  )

  it.effect("finds what the words themselves say, whatever they are", () =>
    Effect.gen(function* () {
      const { run, store } = yield* started()
      const words = ["a", "ab", "abc", "b", "ba", "ö", "数", "7", "don't", "x_y", "'", "\\", "NULL", "%", '"', "{}"]
      const text = Effect.map(Effect.all(Array.from({ length: 6 }, () => Random.choice(words))), (chosen) =>
        chosen.join(" ")
      )
      const groups = yield* Effect.replicateEffect(
        Effect.map(Effect.all([text, text, text]), ([question, one, other]) => chats(question, one, other)),
        40
      )
      yield* store.submit(
        run,
        groups.map((group) => chatSubmission(group))
      )
      yield* indexed(run)
      const texts = groups.map(({ messages }) => RolloutText.ofMessages(messages))
      for (let i = 0; i < 60; i++) {
        const parts = yield* Effect.all([Random.choice(words), Random.choice(words), Random.choice(words)])
        const typed = i % 3 === 0 ? parts.join(" ") : i % 3 === 1 ? `"${parts.join(" ")}"` : `${parts[0]} "${parts[1]}"`
        const query = RolloutText.parse(typed)
        if (query === undefined) continue
        const expected = texts.filter((one) => RolloutText.matches(query, one)).length
        const { rows, total } = yield* search(run, typed)
        assert.deepStrictEqual([rows.length, total], [expected, expected], typed)
      }
    }).pipe(Random.withSeed("words"))
  )

  it.effect("pages through what all filters leave, newest first, and counts on the first page", () =>
    Effect.gen(function* () {
      const { reader, run, store } = yield* started(4)
      yield* store.registerEnvironment(run, environment("x", { groupSize: 2 }))
      yield* store.registerEnvironment(run, environment("y", { groupSize: 2 }))
      for (let i = 0; i < 12; i++) {
        yield* store.submit(run, [
          chatSubmission(chats(`Question ${i}`, i % 2 === 0 ? "yes of course" : "no way", "end"), {
            envId: i % 3 === 0 ? 0 : 1,
            scores: [i, i]
          })
        ])
      }
      for (let i = 0; i < 3; i++) yield* store.ack(Option.getOrThrow(yield* store.claim(run, trainer)))
      yield* indexed(run)
      const ids = new Map((yield* reader.rollouts(run, { limit: 100 })).rows.map(({ id, preview }) => [id, preview]))
      const pages = Effect.fnUntraced(function* (filter: Omit<RolloutReader.RolloutFilter, "limit">) {
        const found: Array<number> = []
        const totals: Array<number | null> = []
        for (let before: string | null | undefined; before !== null;) {
          const page = yield* reader.rollouts(run, { limit: 2, ...filter, ...(before !== undefined && { before }) })
          found.push(...page.rows.map(({ id }) => Number(ids.get(id)!.split(" ")[1])))
          totals.push(page.total)
          before = page.next
        }
        assert.deepStrictEqual(
          totals,
          totals.map((_, i) => (i === 0 ? found.length : null))
        )
        return found
      })
      const yes = RolloutText.parse("yes course")!
      assert.deepStrictEqual(yield* pages({ text: yes }), [10, 8, 6, 4, 2, 0])
      assert.deepStrictEqual(yield* pages({ text: RolloutText.parse('"of course"')! }), [10, 8, 6, 4, 2, 0])
      assert.deepStrictEqual(yield* pages({ text: yes, environment: "x_0" }), [6, 0])
      assert.deepStrictEqual(yield* pages({ text: yes, stepFrom: 5, stepTo: 6 }), [4, 2])
      assert.deepStrictEqual(yield* pages({ stepFrom: 6 }), [5, 4])
      assert.deepStrictEqual(yield* pages({ environment: "y_0", scoreFrom: 3, scoreTo: 7 }), [7, 5, 4])
      assert.deepStrictEqual(yield* pages({ text: yes, environment: "y_0", stepTo: 5, scoreFrom: 1, scoreTo: 2 }), [2])
      assert.deepStrictEqual(yield* pages({ text: RolloutText.parse("nothing")! }), [])
      assert.deepStrictEqual(yield* pages({ environment: "z_0" }), [])
    })
  )

  it.effect("counts no phrase of which too many groups have the words, and finds it all the same", () =>
    Effect.gen(function* () {
      const { run, store } = yield* started()
      const many = Array.from({ length: 2010 }, (_, i) =>
        chatSubmission(chats("Then?", i === 5 ? "first second" : "second first"))
      )
      yield* store.submit(run, many)
      yield* indexed(run)
      const frequent = yield* search(run, '"second first"', { limit: 3 })
      assert.deepStrictEqual([frequent.rows.length, frequent.total], [3, null])
      const rare = yield* search(run, '"first second"', { limit: 3 })
      assert.deepStrictEqual([rare.rows.length, rare.total, rare.next], [1, 1, null])
      assert.strictEqual((yield* search(run, "first second", { limit: 3 })).total, 2010)
    })
  )

  it.effect("gives a stored group whole, with the row it has in lists", () =>
    Effect.gen(function* () {
      const { reader, run, store } = yield* started()
      const one = chatSubmission(SampleGroups.full, { envId: 5, policyStep: 2 })
      yield* store.submit(run, [one])
      yield* indexed(run)
      const [row] = (yield* reader.rollouts(run, { limit: 1 })).rows
      const { payload, ...rest } = Option.getOrThrow(yield* reader.rollout(run, row!.id))
      assert.deepStrictEqual(rest, row)
      assert.deepInclude(rest, { preview: "2 + 2?", envId: 5, environment: null, state: "queued", policyStep: 2 })
      assert.isTrue(Buffer.from(payload.bytes).equals(one.payload.bytes))
      assert.isTrue(Option.isNone(yield* reader.rollout(run, "999999999")))
      assert.isTrue(Option.isNone(yield* reader.rollout(run, "x")))
    })
  )

  it.effect("keeps the first text of a token, and any text", () =>
    Effect.gen(function* () {
      const { reader, run, store } = yield* started()
      yield* store.recordPieces(
        run,
        new Map([
          [0, "\u0000"],
          [1, " the"],
          [2_000_000_000, "\ufffd"]
        ])
      )
      yield* store.recordPieces(
        run,
        new Map([
          [1, "another"],
          [2, "'"]
        ])
      )
      assert.deepStrictEqual(
        yield* reader.pieces(run),
        new Map([
          [0, "␀"],
          [1, " the"],
          [2, "'"],
          [2_000_000_000, "\ufffd"]
        ])
      )
      assert.deepStrictEqual(yield* reader.pieces(run, [2, 3]), new Map([[2, "'"]]))
      assert.deepStrictEqual(yield* reader.pieces(run, []), new Map())
    })
  )
}
