import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Layer, Logger, Option, References, Schema, Stream } from "effect"
import * as Environment from "../src/Environment.ts"
import * as EnvironmentSettings from "../src/definition/EnvironmentSettings.ts"
import type { Trajectory } from "../src/trajectory/Trajectory.ts"
import { trajectory } from "./rollout/RolloutTest.ts"

const silent = Effect.provideService(References.MinimumLogLevel, "None")

const built = <Item>(definition: Environment.Definition<Item, Error, never>) =>
  Environment.Environment.pipe(
    Effect.provide(Environment.layer("letters", Environment.settings({}), () => Effect.succeed(definition))(), {
      local: true
    })
  )

const definitionOf = (): Environment.Definition<string, Error, never> => ({
  items: (cursor) => Stream.fromIterable(["a", "b", "c"].slice(cursor)),
  collectTrajectories: () => Effect.succeed([trajectory(0), trajectory(1)]),
  score: (_, group) => Effect.succeed(group.map((_, index) => index))
})

/** An environment over three items, with whatever `definition` says otherwise. */
const letters = (definition: Partial<Environment.Definition<string, Error, never>>) =>
  built({ ...definitionOf(), ...definition })

const cut = (first: number) => ({ ...trajectory(first), finishReason: "length" })
const pair = (first: number) => ({ trajectories: [trajectory(first), trajectory(first)] })

const groupsOf = ({ groups }: Environment.EnvironmentShape) => silent(Stream.runCollect(groups))
const firstOf = (environment: Environment.EnvironmentShape) =>
  environment.work(0).pipe(Stream.runHead, Effect.map(Option.getOrThrow))

describe("Environment", () => {
  it.effect("gives the same item the same id in any order, run and evaluation, however it is sampled", () =>
    Effect.gen(function* () {
      interface Item {
        readonly text: string
        readonly samplingSeed: number
      }
      const of = (texts: ReadonlyArray<string>, id?: (item: Item) => unknown) => {
        const items = texts.map((text, samplingSeed): Item => ({ text, samplingSeed }))
        return built<Item>({
          items: (cursor) => Stream.fromIterable(items.slice(cursor)),
          collectTrajectories: () => Effect.succeed(pair(0).trajectories),
          score: () => Effect.succeed([0, 1]),
          evaluation: {
            items: Stream.fromIterable(items),
            collectTrajectories: () => Effect.succeed(pair(0).trajectories)
          },
          ...(id && { id })
        })
      }
      const idsOf = (environment: Environment.EnvironmentShape) =>
        Effect.map(groupsOf(environment), (groups) => groups.map(({ itemId }) => itemId))
      const forth = yield* idsOf(yield* of(["a", "b", "c"]))
      const back = yield* of(["c", "b", "a"])
      assert.deepStrictEqual((yield* idsOf(back)).toReversed(), forth)
      assert.strictEqual(new Set(forth).size, 3)
      const work = yield* Stream.runCollect(back.work(1))
      assert.deepStrictEqual(
        work.map(({ id }) => id),
        [forth[1], forth[0]]
      )
      const evaluated = yield* Stream.runCollect(Option.getOrThrow(back.evaluation))
      assert.deepStrictEqual(evaluated.map(({ id }) => id).toReversed(), forth)
      assert.deepStrictEqual(yield* idsOf(yield* of(["a", "b"], ({ text }) => `row-${text}`)), ["row-a", "row-b"])
    })
  )

  it.effect("of an item's groups skips those that cannot be judged, and keeps the others and what was put back", () =>
    Effect.gen(function* () {
      const environment = yield* letters({
        collectTrajectories: () => Effect.succeed({ groups: [pair(1), pair(2), pair(3)], requeue: ["d"] }),
        score: (_, group) =>
          group[0]!.tokens[0] === 2
            ? Effect.fail(new Environment.Unscorable({ message: "the judge is undecided" }))
            : Effect.succeed([0, 1])
      })
      const { groups, requeued, unscorable } = yield* (yield* firstOf(environment)).rollOut
      assert.deepStrictEqual(
        groups.map(({ tokens }) => tokens[0]![0]),
        [1, 3]
      )
      assert.deepStrictEqual(
        unscorable.map(({ message }) => message),
        ["the judge is undecided"]
      )
      assert.deepStrictEqual(
        requeued.map(({ label }) => label),
        ["d"]
      )
      assert.strictEqual((yield* groupsOf(environment)).length, 6)
    })
  )

  it.effect("is unscorable where no group of an item is left, and goes on with the next item", () =>
    Effect.gen(function* () {
      const environment = yield* letters({
        score: (item) =>
          item === "a" ? Effect.fail(new Environment.Unscorable({ message: "broken" })) : Effect.succeed([0, 1])
      })
      const error = yield* Effect.flip((yield* firstOf(environment)).rollOut)
      assert.strictEqual(error._tag, "Unscorable")
      assert.strictEqual((yield* groupsOf(environment)).length, 2)
    })
  )

  it.effect("does not judge a group with a score too few", () =>
    Effect.gen(function* () {
      const error = yield* Effect.flip((yield* firstOf(yield* letters({ score: () => Effect.succeed([1]) }))).rollOut)
      assert.strictEqual(error._tag, "EnvironmentError")
      assert.include(error.message, "score returned 1 score for 2 trajectories")
    })
  )

  it.effect("takes what a function throws for a mistake of that function, and shows its stack once", () =>
    Effect.gen(function* () {
      const logged: Array<unknown> = []
      const listening = Logger.layer([Logger.make(({ message }) => void logged.push(message))])
      const broken = yield* letters({
        score: () => {
          throw new TypeError("no such thing")
        }
      })
      const errors = yield* broken.work(0).pipe(
        Stream.mapEffect(({ rollOut }) => Effect.flip(rollOut)),
        Stream.runCollect,
        Effect.provide(listening)
      )
      assert.strictEqual(errors.length, 3)
      for (const error of errors) {
        assert.isTrue(error._tag === "EnvironmentError" && error.cause instanceof Environment.DefinitionFault)
        assert.match(error.message, /^score threw TypeError: no such thing \(.*Environment\.test\.ts:\d+:\d+\)$/)
      }
      assert.strictEqual(logged.length, 1)
    })
  )

  it.effect("refuses keys that mean nothing, by type and when it is made", () =>
    Effect.gen(function* () {
      const misspelt = Environment.layer("letters", Environment.settings({}), () =>
        // @ts-expect-error: the key is misspelt
        Effect.succeed({ ...definitionOf(), evalution: { items: Stream.empty } })
      )
      const nested = Environment.layer("letters", Environment.settings({}), () =>
        // @ts-expect-error: a key inside is
        Effect.succeed({ ...definitionOf(), claims: { untestable: "why", scoreRnage: [0, 1] as const } })
      )
      const messages = yield* Effect.forEach([misspelt, nested], (layer) =>
        Effect.scoped(Layer.build(layer())).pipe(
          Effect.flip,
          Effect.map(({ message }) => message)
        )
      )
      assert.deepStrictEqual(messages, [
        'the environment letters: the definition has an unknown key "evalution"; did you mean "evaluation"?',
        'the environment letters: claims has an unknown key "scoreRnage"; did you mean "scoreRange"?'
      ])
    })
  )

  it.effect("does not ask for scores of groups that bring theirs, and needs no score where all do", () =>
    Effect.gen(function* () {
      const solved = { ...pair(1), scores: [{ score: 1, overrides: { sft: true } }, 0.5] }
      const { score: _, ...rest } = {
        ...definitionOf(),
        collectTrajectories: () => Effect.succeed({ groups: [solved] })
      }
      const [group] = yield* groupsOf(yield* built(rest))
      assert.deepStrictEqual(group!.scores, Float64Array.of(1, 0.5))
      assert.deepStrictEqual(group!.overrides, [{ sft: true }, {}])
      assert.notProperty(group, "values")
      const without = yield* built({ ...rest, collectTrajectories: () => Effect.succeed([trajectory(1)]) })
      assert.match(
        (yield* Effect.flip(groupsOf(without))).message,
        /no score function, so every group must contain scores/
      )
    })
  )

  it.effect("groups that bring their scores cannot be scored again, for the definition's reason if it gives one", () =>
    Effect.gen(function* () {
      const solved = { ...pair(1), scores: [1, 0.5] }
      const { score: _, ...rest } = {
        ...definitionOf(),
        collectTrajectories: () => Effect.succeed({ groups: [solved] })
      }
      const reasonOf = (definition: object) =>
        Effect.gen(function* () {
          const { work } = yield* built({ ...rest, ...definition })
          const [item] = yield* Stream.runCollect(Stream.take(work(0), 1))
          return (yield* Effect.flip(item!.judge([trajectory(1)]))).message
        })
      assert.match(yield* reasonOf({}), /no score function/)
      assert.strictEqual(yield* reasonOf({ cannotRescore: "it is scored where it ran" }), "it is scored where it ran")
    })
  )

  it.effect("tells afterScore of judged groups; what it leaves out is not sent, what it asks for is put back", () =>
    Effect.gen(function* () {
      const told: Array<readonly [item: string, values: ReadonlyArray<number>]> = []
      const environment = yield* letters({
        collectTrajectories: () => Effect.succeed({ groups: [pair(1), pair(2)], requeue: ["x"] }),
        score: (_, group) => Effect.succeed(group[0]!.tokens[0] === 1 ? [1, 1] : [{ score: 0 }, { score: 1 }]),
        afterScore: (item, { trajectories, values }) =>
          Effect.sync(() => {
            told.push([item, values])
            if (trajectories[0]!.tokens[0] === 1) return { leaveOut: "too easy", requeue: ["y"] }
          }),
        evaluation: {
          items: Stream.make("e"),
          collectTrajectories: () => Effect.succeed([trajectory(2), trajectory(2)])
        }
      })
      const { groups, requeued, unscorable } = yield* (yield* firstOf(environment)).rollOut
      assert.deepStrictEqual(
        groups.map(({ scores }) => Array.from(scores)),
        [[0, 1]]
      )
      assert.deepStrictEqual(
        unscorable.map(({ message }) => message),
        ["too easy"]
      )
      assert.deepStrictEqual(
        requeued.map(({ label }) => label),
        ["x", "y"]
      )
      assert.deepStrictEqual(told, [
        ["a", [1, 1]],
        ["a", [0, 1]]
      ])
      // Evaluations are judged too, but nobody learns from them.
      yield* Stream.runForEach(Option.getOrThrow(environment.evaluation), ({ evaluate }) => evaluate)
      assert.strictEqual(told.length, 2)
    })
  )

  it.effect("counts as solved what reaches the top of the claimed range, not all that is above 0", () =>
    Effect.gen(function* () {
      const solves = Effect.fnUntraced(function* (definition: Partial<Parameters<typeof letters>[0]>) {
        const environment = yield* letters({
          ...definition,
          evaluation: {
            items: Stream.make("e"),
            collectTrajectories: () =>
              Effect.succeed({
                trajectories: [0, 1, 2, 3].map((item) => trajectory(item)),
                scores: [0, 0.6, 0.1 + 0.2 + 0.7, 1]
              }),
            ...definition.evaluation
          }
        })
        const [first] = yield* Stream.runCollect(Option.getOrThrow(environment.evaluation))
        const { solved } = environment
        // Groups for training say the same of their rollouts.
        const [group] = yield* groupsOf(environment)
        assert.deepStrictEqual(
          group?.solved,
          Option.getOrUndefined(
            Option.map(solved, ({ isCorrect }) => Array.from(group?.scores ?? [], (score) => isCorrect(score)))
          )
        )
        return [(yield* first!.evaluate).map(({ correct }) => correct), Option.getOrUndefined(solved)?.meaning]
      })
      const untestable = "nobody knows"
      assert.deepStrictEqual(yield* solves({ claims: { untestable, scoreRange: [0, 1] } }), [
        [false, false, true, true],
        "a score of 1, the maximum"
      ])
      // A sum of parts that rounding left a little below 1.
      assert.deepStrictEqual(yield* solves({ claims: { untestable, scoreRange: [0, 1 + 1e-12] } }), [
        [false, false, true, true],
        "a score of 1.000000000001, the maximum"
      ])
      assert.deepStrictEqual(yield* solves({ claims: { untestable } }), [
        [undefined, undefined, undefined, undefined],
        undefined
      ])
      assert.deepStrictEqual(yield* solves({ claims: { untestable }, isCorrect: (score) => score > 0.5 }), [
        [false, true, true, true],
        "correct by the environment's definition"
      ])
    })
  )

  it.effect("evaluates groups that bring their scores", () =>
    Effect.gen(function* () {
      const environment = yield* letters({
        evaluation: {
          items: Stream.make("e"),
          collectTrajectories: () => Effect.succeed({ trajectories: [trajectory(0)], scores: [0.25] })
        }
      })
      const [first] = yield* Stream.runCollect(Option.getOrThrow(environment.evaluation))
      const [evaluated] = yield* first!.evaluate
      assert.strictEqual(evaluated?.score, 0.25)
      // It claims no range of scores.
      assert.isUndefined(evaluated?.correct)
    })
  )

  it.effect("makes claims of completions and of whole episodes, or says why it can make none", () =>
    Effect.gen(function* () {
      const claimed = yield* letters({
        claims: { scoreRange: [0, 1], gold: (item) => [item, trajectory(7)], wrong: () => ["no"] }
      })
      const { items, scoreRange, untestable } = Option.getOrThrow(claimed.claims)
      const [first] = yield* Stream.runCollect(items)
      assert.deepStrictEqual(
        first!.gold.map(({ completion }) => completion),
        ["a", "right"]
      )
      assert.strictEqual(first!.gold[1]!.tokens[0], 7)
      assert.deepStrictEqual([scoreRange, untestable], [[0, 1], undefined])
      const { score: _, ...rest } = { ...definitionOf(), claims: { untestable: "its rows are solved already" } }
      const solved = Option.getOrThrow((yield* built(rest)).claims)
      assert.strictEqual(solved.untestable, "its rows are solved already")
      const [row] = yield* Stream.runCollect(solved.items)
      assert.deepStrictEqual([row!.gold, row!.wrong], [[], []])
      assert.strictEqual((yield* Effect.flip(row!.score([trajectory(1)])))._tag, "Unscorable")
    })
  )

  it.effect("names itself in the errors of its items, rollouts and scores, whose cause stays", () =>
    Effect.gen(function* () {
      const mishap = new TypeError("no such file")
      const places = [
        { items: () => Stream.fail(mishap) },
        { collectTrajectories: () => Effect.fail(mishap) },
        { score: () => Effect.fail(mishap) }
      ]
      for (const place of places) {
        const error = yield* Effect.flip(groupsOf(yield* letters(place)))
        assert.deepStrictEqual([error.environment, error.message, error.cause], ["letters", "no such file", mishap])
      }
    })
  )

  it.effect("says in words what a source failed with, whatever it was", () =>
    Effect.gen(function* () {
      const words = Effect.fnUntraced(function* (failure: unknown) {
        const environment = yield* Environment.Environment.pipe(
          Effect.provide(
            Environment.layer("letters", Environment.settings({}), () =>
              Effect.succeed({ ...definitionOf(), items: () => Stream.fail(failure) })
            )(),
            { local: true }
          )
        )
        return (yield* Effect.flip(groupsOf(environment))).message
      })
      assert.strictEqual(yield* words({ message: "no rows are left" }), "no rows are left")
      assert.strictEqual(yield* words({ code: 7, at: ["rows"] }), '{"code":7,"at":["rows"]}')
      assert.strictEqual(yield* words("no rows"), "no rows")
      assert.strictEqual(yield* words(new TypeError()), "TypeError")
      assert.strictEqual(yield* words(undefined), "undefined")
    })
  )

  it.effect("has a label for items that JSON cannot write", () =>
    Effect.gen(function* () {
      const item: { readonly seed: bigint; self?: unknown } = { seed: 7n }
      item.self = item
      const environment = yield* built({
        items: () => Stream.make(item),
        collectTrajectories: () => Effect.succeed([]),
        score: () => Effect.succeed([])
      })
      assert.include((yield* firstOf(environment)).label, "7n")
    })
  )

  it.effect("takes an author's plain lists, labels and ones for what they say", () =>
    Effect.gen(function* () {
      const plain = { messages: [], completion: "b", finishReason: "stop", tokens: [5, 6, 7] }
      const given: ReadonlyArray<unknown> = [
        { ...plain, mask: [-100, 6, 7], logprobs: [1, -0.5, -0.25] },
        { ...plain, mask: Int32Array.of(0, 1, 1), logprobs: Float32Array.of(1, -0.5, -0.25) },
        { ...plain, mask: Uint8Array.of(0, 1, 1), logprobs: [Number.NaN, -0.5, -0.25] }
      ]
      const environment = yield* letters({
        // As a file that is run without its types being checked may give them.
        collectTrajectories: () => Effect.succeed(given as ReadonlyArray<Trajectory>),
        score: () => Effect.succeed([0, 1, 2])
      })
      const [group] = yield* groupsOf(environment)
      assert.deepStrictEqual(group!.tokens, Array(3).fill(Int32Array.of(5, 6, 7)))
      assert.deepStrictEqual(group!.masks, Array(3).fill(Uint8Array.of(0, 1, 1)))
      assert.deepStrictEqual(group!.inferenceLogprobs, Array(3).fill(Float32Array.of(Number.NaN, -0.5, -0.25)))
    })
  )

  it.effect("carries what the trainer gets beside the scores", () =>
    Effect.gen(function* () {
      const beside = {
        refLogprobs: [0, 1].map(() => Float32Array.of(1, 1, -1, -1)),
        distillTokenIds: [0, 1].map(() => [0, 1, 2, 3].map((id) => Int32Array.of(id))),
        distillLogprobs: [0, 1].map(() => [0, 1, 2, 3].map(() => Float32Array.of(-0.5))),
        generationParams: { temperature: 0.7 },
        groupOverrides: { sft: true },
        images: ["data:image/png;base64,AA=="]
      }
      const trajectories = [trajectory(0), { ...trajectory(1), policyVersion: 3 }]
      const environment = yield* letters({
        collectTrajectories: () => Effect.succeed({ groups: [{ ...beside, trajectories }] }),
        score: () => Effect.succeed([0.5, { score: 1, advantages: [0, 0, 1, 2], overrides: { temperature: 1 } }])
      })
      const [group] = yield* groupsOf(environment)
      assert.deepInclude(group, beside)
      assert.deepStrictEqual(group!.scores, Float64Array.of(0.5, 1))
      assert.deepStrictEqual(group!.overrides, [{}, { temperature: 1 }])
      assert.deepStrictEqual(group!.policyVersions, [null, 3])
      assert.deepStrictEqual(group!.advantages, [Float32Array.of(0.5, 0.5, 0.5, 0.5), Float32Array.of(0, 0, 1, 2)])
      assert.strictEqual(group!.inferenceLogprobs?.length, 2)
    })
  )

  it.effect("carries the answers expected and those read, by its score's words or by its claims", () =>
    Effect.gen(function* () {
      const shownBy = Effect.fnUntraced(function* (score: Environment.Score, gold: ReadonlyArray<string>) {
        const environment = yield* letters({
          score: (_, group) => Effect.succeed(group.map((_, index) => (index === 0 ? score : 0))),
          claims: { scoreRange: [0, 1], gold: () => gold, wrong: () => ["no"] }
        })
        const [group] = yield* groupsOf(environment)
        return [group!.groupOverrides, group!.overrides]
      })
      assert.deepStrictEqual(yield* shownBy({ score: 1, sample: { gold: ["18"], parsed: "18" } }, ["\\boxed{18}"]), [
        { gold: ["18"] },
        [{ parsed: "18" }, {}]
      ])
      assert.deepStrictEqual(yield* shownBy({ score: 0, sample: { parsed: null } }, ["a", "b"]), [
        { gold: ["a", "b"] },
        [{ parsed: null }, {}]
      ])
      // A whole document is for whoever opens the item.
      assert.deepStrictEqual(yield* shownBy(1, ["x".repeat(5000)]), [undefined, undefined])
    })
  )

  it.effect("is called by the question of its item where it has one", () =>
    Effect.gen(function* () {
      const labelOf = Effect.fnUntraced(function* (item: unknown) {
        const environment = yield* built<unknown>({
          items: () => Stream.make(item),
          collectTrajectories: () => Effect.succeed([]),
          score: () => Effect.succeed([])
        })
        return (yield* firstOf(environment)).label
      })
      assert.strictEqual(yield* labelOf({ id: 3, question: "How many?", answer: "4" }), "How many?")
      assert.strictEqual(
        yield* labelOf({
          messages: [
            { role: "system", content: "Be brief." },
            { role: "user", content: "Why?" }
          ]
        }),
        "Why?"
      )
      assert.strictEqual(yield* labelOf("just this"), "just this")
      assert.strictEqual(yield* labelOf({ rows: 2 }), '{"rows":2}')
    })
  )

  it.effect("says of rollouts that the token limit cut off that it did, beside the environment's own switches", () =>
    Effect.gen(function* () {
      const overridesOf = Effect.fnUntraced(function* (
        trajectories: ReadonlyArray<Trajectory>,
        scores: ReadonlyArray<Environment.Score>
      ) {
        const environment = yield* letters({
          collectTrajectories: () => Effect.succeed(trajectories),
          score: () => Effect.succeed(scores)
        })
        const [group] = yield* groupsOf(environment)
        return group!.overrides
      })
      assert.deepStrictEqual(yield* overridesOf([trajectory(0), cut(1)], [0, 1]), [{}, { finish_reason: "length" }])
      const own = { set_advantage_to_zero: true }
      assert.deepStrictEqual(yield* overridesOf([cut(0), trajectory(1)], [{ score: 0, overrides: own }, 1]), [
        { finish_reason: "length", set_advantage_to_zero: true },
        {}
      ])
      // The environment has the last word.
      const other = { finish_reason: "stop" }
      assert.deepStrictEqual(yield* overridesOf([cut(0), cut(1)], [{ score: 0, overrides: other }, 1]), [
        { finish_reason: "stop" },
        { finish_reason: "length" }
      ])
      assert.isUndefined(yield* overridesOf([trajectory(0), trajectory(1)], [0, 1]))
    })
  )

  it.effect("leaves logprobs out where one trajectory has none", () =>
    Effect.gen(function* () {
      const { logprobs: _, ...plain } = trajectory(1)
      const environment = yield* letters({ collectTrajectories: () => Effect.succeed([trajectory(0), plain]) })
      const [group] = yield* groupsOf(environment)
      assert.notProperty(group, "inferenceLogprobs")
    })
  )

  it.effect("merges two of a kind that differ in settings", () =>
    Effect.gen(function* () {
      const kind = Environment.layer("kind", Environment.settings({}), ({ groupSize }) =>
        Effect.succeed<Environment.Definition<number, Error, never>>({
          items: () => Stream.make(groupSize),
          collectTrajectories: () => Effect.succeed([]),
          score: () => Effect.succeed([])
        })
      )
      const both = yield* Effect.provide(
        Environment.Environments,
        Environment.merge(kind({ groupSize: 2 }), kind({ groupSize: 3 }))
      )
      assert.deepStrictEqual(
        both.map(({ settings }) => settings.groupSize),
        [2, 3]
      )
    })
  )

  it.effect("refuses unknown and unfit settings, naming the field as the user writes it", () =>
    Effect.gen(function* () {
      const { fromEncoded } = Environment.layer("kind", Environment.settings({}), () =>
        Effect.succeed<Environment.Definition<number, Error, never>>({
          items: () => Stream.empty,
          collectTrajectories: () => Effect.succeed([]),
          score: () => Effect.succeed([])
        })
      )
      const refused = (given: unknown) => Effect.map(Effect.flip(Layer.build(fromEncoded(given))), String)
      assert.include(yield* refused({ group_sise: 4 }), "group_sise")
      assert.include(yield* refused({ min_batch_allocation: 1.5 }), "min_batch_allocation")
      assert.isTrue(Exit.isFailure(yield* Effect.exit(Layer.build(fromEncoded({ group_size: 0 })))))
    })
  )
})

describe("EnvironmentSettings", () => {
  it("writes every setting as it reads it", () => {
    const settings = EnvironmentSettings.make({ largest: Environment.field(Schema.Int, 9, "largest number") })
    const given = settings.complete({ largest: 4, minBatchAllocation: 0.25, evalHandling: "NONE" })
    const encoded = settings.encode(given)
    assert.deepInclude(encoded, { largest: 4, min_batch_allocation: 0.25, eval_handling: "NONE", group_size: 4 })
    assert.deepStrictEqual(Effect.runSync(settings.decode(encoded)), given)
  })
})
