import { assert, describe, it, layer } from "@effect/vitest"
import {
  Dataset,
  Environment,
  Laws,
  Message,
  RewardComponents,
  ServerManager,
  Tokenizer,
  TrainingProgress,
  type Trajectory
} from "@atropos/core"
import { Mathematics, MathVerifier } from "@atropos/envs"
import { Effect, Layer, Option, Schema, Stream } from "effect"
import * as Items from "../src/math/Items.ts"
import * as Scoring from "../src/math/Scoring.ts"
import { claimed, claimsHold, echo, itemsHold, lawsHold, scoresOf } from "./TestItems.ts"

const rows = [
  { question: "What is 9 + 9?", final_answer: "18" },
  { question: "What is half of 3?", final_answer: "so \\boxed{\\frac{3}{2}}" }
]

const environment = (settings: Parameters<typeof Mathematics.layer>[0], script: ServerManager.Script = ["?"]) =>
  Mathematics.layer(settings).pipe(
    Layer.provide(ServerManager.layerScripted(script)),
    Layer.provide([Tokenizer.layerBytes, MathVerifier.layer(), Dataset.layerMemory({ rows, one: rows.slice(0, 1) })])
  )

const live = { excludeTestServices: true }

layer(environment({ groupSize: 2, seed: 3 }), live)("Mathematics", (it) => {
  it.effect("gives the same items from any cursor on, none of them held out", () => itemsHold)

  it.effect("holds for each of sixty items what is claimed of it", () => claimsHold(60))

  it.effect.prop("scores follow the laws of scoring", [Laws.arbitraryGroup()], ([group]) => lawsHold(group))
})

describe("Mathematics' rows", () => {
  it.effect("may have answers or solutions with a box", () =>
    Effect.gen(function* () {
      const items = yield* claimed(2)
      const half = items.find(({ label }) => label.includes("half"))!
      const given = ["\\boxed{1.5}", "\\boxed{3/2}", "\\boxed{3}", "1.5"].map((text) => Laws.trajectoryOf(text))
      assert.deepStrictEqual(yield* half.score(given), [1, 1, -1, -1])
    }).pipe(Effect.provide(environment({ source: "rows", testSource: "rows" })))
  )

  it.effect("with a column that is not there are an error that names it and those that are", () =>
    Effect.gen(function* () {
      const built = Effect.scoped(Layer.build(environment({ source: "rows", problemField: "problem" })))
      const { message } = yield* Effect.flip(built)
      assert.include(message, 'unknown column "problem" (problem_field); the columns are question, final_answer')
    })
  )
})

layer(environment({ groupSize: 2, seed: 3, promptStyle: "base", examples: 4 }), live)("Mathematics as a text", (it) => {
  it.effect("holds for each of twenty items what is claimed of it", () => claimsHold(20))

  it.effect.prop("scores follow the laws of scoring", [Laws.arbitraryGroup()], ([group]) => lawsHold(group))

  it.effect("gives a policy that says the prompt back nothing, though worked examples have answers", () =>
    Effect.gen(function* () {
      assert.isTrue((yield* scoresOf(20)).every((score) => score === -1))
    }).pipe(Effect.provide(environment({ groupSize: 1, promptStyle: "base", examples: 4 }, echo)))
  )
})

describe("a problem as a text", () => {
  /** Whatever a model is asked, and the scores of its answers. */
  const asked = (settings: Parameters<typeof Mathematics.layer>[0], answers: ServerManager.Script) =>
    Effect.gen(function* () {
      const requests: Array<ServerManager.ScriptedRequest> = []
      const listening: ServerManager.Script = (request) => {
        requests.push(request)
        return typeof answers === "function" ? answers(request) : answers
      }
      const made = environment({ source: "one", testSource: "one", promptStyle: "base", ...settings }, listening)
      const rolledOut = yield* Effect.gen(function* () {
        const { work } = yield* Environment.Environment
        const [first] = yield* work(0).pipe(Stream.take(1), Stream.runCollect)
        return yield* first!.rollOut
      }).pipe(Effect.provide(made))
      return { requests, rolledOut }
    })

  it.live("is continued up to a stop; the last box of the last answer counts, and nothing follows", () =>
    Effect.gen(function* () {
      const answers = [
        " 18. </think> <answer> \\boxed{18}",
        " 18. </think> <answer> or rather: <answer> \\boxed{18}</answer> and more",
        " \\boxed{18} </think> 18",
        " 18. </think> <answer> 18 </answer>"
      ]
      const { requests, rolledOut } = yield* asked({ groupSize: 4, shareJudged: 1 }, answers)
      assert.deepStrictEqual(Array.from(rolledOut.groups[0]!.scores), [1, 1, -1, -1])
      assert.isEmpty(rolledOut.requeued)
      const [request] = requests
      assert.isTrue(request !== undefined && "prompt" in request && request.prompt.endsWith("\nAssistant: <think>"))
      assert.deepInclude(request, { stop: ["User:", "Human:", "Assistant:", "</answer>"] })
    })
  )

  it.live("has as many tokens as the training run has come to", () =>
    Effect.gen(function* () {
      const lengths = Effect.fnUntraced(function* (progress?: TrainingProgress.TrainingProgress) {
        const settings = { startTokenLength: 100, maxTokenLength: 500, groupSize: 1 }
        const run = asked(settings, ["?"])
        const { requests } = yield* progress === undefined ? run : TrainingProgress.at(progress)(run)
        return requests.map(({ maxTokens }) => maxTokens)
      })
      assert.deepStrictEqual(yield* lengths({ step: 0, totalSteps: 100 }), [100])
      assert.deepStrictEqual(yield* lengths({ step: 33, totalSteps: 100 }), [232])
      assert.deepStrictEqual(yield* lengths({ step: 200, totalSteps: 100 }), [500])
      assert.deepStrictEqual(yield* lengths({ step: 50, totalSteps: Infinity }), [100])
      assert.deepStrictEqual(yield* lengths(), [500])
    })
  )
})

const lengthAt = (step: number) => TrainingProgress.grown({ step, totalSteps: 1_000 }, 64, 4_096)

describe("a length that grows", () => {
  it.prop("stays between start and end, and never shrinks", [Schema.Natural, Schema.Natural], ([step, more]) => {
    assert.isTrue(lengthAt(step) >= 64 && lengthAt(step + more) <= 4_096 && lengthAt(step) <= lengthAt(step + more))
  })
})

const trajectory = (completion: string, finishReason = "stop"): Trajectory.Trajectory =>
  Laws.trajectoryOf(completion, finishReason)
const rules: Scoring.Rules = { shareLengthPenalty: 0, shareJudged: 1, maskTooLong: true, formReward: 0 }
const problem: Items.Normal = { kind: "normal", problem: "What is 9 + 9?", answer: "18" }
const right = trajectory("<think>a</think>nine and nine: \\boxed{18}")
const other = trajectory("<think>b</think>twice nine makes this: \\boxed{18}")
const wrong = trajectory("<think>c</think>I guess that it is \\boxed{17}")
const cut = trajectory("<think>and then I think on and on", "length")
const kindsOf = (items: ReadonlyArray<Items.Item>) => items.map(({ kind }) => kind)

const numberOf = ({ rewards }: Scoring.Parts): number => RewardComponents.scoreOf(rewards, Scoring.rule)
const numbers = (...args: Parameters<typeof Scoring.scores>): ReadonlyArray<number> =>
  Scoring.scores(...args).map(numberOf)

describe("Mathematics' scores", () => {
  it("are 1 and -1, and an answer that was cut off is masked", () => {
    assert.deepStrictEqual(Scoring.scores([true, false, false], [right, wrong, cut], rules), [
      { rewards: { correct: 1 } },
      { rewards: { correct: 0 } },
      { rewards: { correct: 0 }, overrides: { set_advantage_to_zero: true } }
    ])
    assert.deepStrictEqual(numbers([true, false, false], [right, wrong, cut], rules), [1, -1, -1])
    assert.deepStrictEqual(Scoring.scores([false], [cut], { ...rules, maskTooLong: false }), [
      { rewards: { correct: 0 } }
    ])
  })

  it("excuse a try after a verdict that was cut off", () => {
    assert.deepStrictEqual(
      [right, wrong, cut].map((one) => numberOf(Scoring.tryOf(one === right, one, rules))),
      [1, -1, 0]
    )
  })

  it("follow the length of the answers in a share of the groups that are all right", () => {
    const group = [10, 20, 30].map((length) => trajectory("x".repeat(length)))
    const penalty = { ...rules, shareLengthPenalty: 1 }
    assert.deepStrictEqual(numbers([true, true, true], group, penalty), [1, 0, -1])
    assert.deepStrictEqual(numbers([true, true, false], group, penalty), [1, 1, -1])
    assert.deepStrictEqual(numbers([true, true, true], group, rules), [1, 1, 1])
    // A tenth of the shortest is no difference.
    const alike = [100, 105, 110].map((length) => trajectory("x".repeat(length)))
    assert.deepStrictEqual(numbers([true, true, true], alike, penalty), [1, 1, 1])
  })

  it.prop(
    "do not depend on the order of the group",
    [Schema.Array(Schema.NonEmptyString).check(Schema.isMinLength(1))],
    ([texts]) => {
      const half = { ...rules, shareLengthPenalty: 0.5 }
      const group = texts.map((text) => trajectory(text.repeat(12)))
      const all = group.map(() => true)
      assert.deepStrictEqual(
        Scoring.scores(all, group.toReversed(), half),
        Scoring.scores(all, group, half).toReversed()
      )
    }
  )
})

describe("what follows from a group", () => {
  it("where all are right: the two that differ most are compared", () => {
    const [item] = Scoring.followUps(problem, [true, true, true], [right, right, other], rules)
    assert.strictEqual(item?.kind, "rlaif")
    if (item?.kind === "rlaif") assert.sameMembers([...item.pair], [right, other])
    assert.isEmpty(Scoring.followUps(problem, [true, true], [right, right], rules))
  })

  it("where some are right: a right and a wrong solution are judged, without their thinking", () => {
    const items = Scoring.followUps(problem, [false, true], [wrong, right], rules)
    assert.deepStrictEqual(kindsOf(items), ["judge", "judge"])
    assert.deepStrictEqual(items[0], {
      ...problem,
      kind: "judge",
      solution: "nine and nine: \\boxed{18}",
      isRight: true
    })
    assert.deepStrictEqual(items[1], {
      ...problem,
      kind: "judge",
      solution: "I guess that it is \\boxed{17}",
      isRight: false
    })
  })

  it("where the wrong ones were cut off, or the lot says no: nothing, and the group is still there to train on", () => {
    assert.isEmpty(Scoring.followUps(problem, [true, false], [right, cut], rules))
    assert.isEmpty(Scoring.followUps(problem, [true, false], [right, wrong], { ...rules, shareJudged: 0 }))
    assert.deepStrictEqual(numbers([true, false], [right, wrong], rules), [1, -1])
  })

  it("where none is right: nothing", () => {
    assert.isEmpty(Scoring.followUps(problem, [false, false], [wrong, cut], rules))
  })

  it("is judged in about the share of groups that is asked for", () => {
    const judged = Array.from({ length: 1_000 }, (_, index) => [trajectory(`${index} \\boxed{18}`), wrong]).filter(
      (group) => Scoring.followUps(problem, [true, false], group, { ...rules, shareJudged: 0.3 }).length > 0
    )
    assert.closeTo(judged.length / 1_000, 0.3, 0.05)
  })
})

describe("a verdict", () => {
  const cases: ReadonlyArray<readonly [text: string, verdict: boolean | undefined]> = [
    ["It is fine. \\boxed{True}", true],
    ["\\boxed{\\text{False}}", false],
    ["<think>\\boxed{True}</think>\\boxed{false}", false],
    ["\\boxed{True} or \\boxed{False}", undefined],
    ["\\boxed{18}", undefined],
    ["True", undefined],
    ["", undefined]
  ]
  for (const [text, verdict] of cases) {
    it(`of ${JSON.stringify(text)} is ${String(verdict)}`, () =>
      assert.strictEqual(Scoring.verdictOf(trajectory(text)), verdict))
  }

  it("that was cut off is none", () => {
    assert.isUndefined(Scoring.verdictOf(trajectory("\\boxed{True}", "length")))
  })
})

/** What the policy says to each kind of prompt, told by what the prompt has in it. */
interface Sayings {
  readonly solve?: ReadonlyArray<string>
  readonly judgeRight?: ReadonlyArray<string>
  readonly judgeWrong?: ReadonlyArray<string>
  readonly retry?: ReadonlyArray<string>
  readonly compare?: (first: string, second: string) => string
}

const policy =
  ({
    compare = () => "[[tie]]",
    judgeRight = ["?"],
    judgeWrong = ["?"],
    retry = ["?"],
    solve = ["?"]
  }: Sayings): ServerManager.Script =>
  (request) => {
    const text = "messages" in request ? request.messages.map(Message.text).join("\n") : ""
    const between = (name: string) => text.split(`--- ${name}`)[1]!.split("\n")[1]!
    if (text.includes("compare two answers")) return compare(between("answer A"), between("answer B"))
    if (text.includes("was checked")) return retry
    if (text.includes("Is this solution right?")) return text.includes("\\boxed{18}") ? judgeRight : judgeWrong
    return solve
  }

/** Work as another process gets it that goes on where this one ended. */
const afterRestart = Effect.fnUntraced(function* ({ label, save }: Environment.Work) {
  const { requeued } = yield* Environment.Environment
  const saved: unknown = JSON.parse(JSON.stringify(save!()))
  const again = yield* Option.getOrThrow(requeued)(saved)
  assert.strictEqual(again.label, label)
  return again
})

/**
 * The groups and items that a first item leads to, kind by kind, followed to their end; what is put back survives a
 * restart.
 */
const follow = Effect.gen(function* () {
  const { work } = yield* Environment.Environment
  const groups: Array<{ readonly label: string; readonly scores: ReadonlyArray<number>; readonly group: unknown }> = []
  const failed: Array<string> = []
  let queue = yield* work(0).pipe(Stream.take(1), Stream.runCollect)
  while (queue.length > 0) {
    const [next, ...rest] = queue
    const outcome = yield* Effect.result(next!.rollOut)
    if (outcome._tag === "Failure") {
      failed.push(`${next!.label}: ${outcome.failure.message}`)
      queue = rest
      continue
    }
    for (const group of outcome.success.groups)
      groups.push({ label: next!.label, scores: Array.from(group.scores), group })
    queue = [...rest, ...(yield* Effect.forEach(outcome.success.requeued, afterRestart))]
  }
  return { groups, failed }
})

const followed = (sayings: Sayings, settings: Parameters<typeof Mathematics.layer>[0] = {}) =>
  follow.pipe(
    Effect.provide(
      environment(
        { source: "one", testSource: "one", groupSize: 2, shareJudged: 1, shareLengthPenalty: 0, ...settings },
        policy(sayings)
      )
    )
  )

const solutions = [right.completion, wrong.completion]
const yes = "<think>a</think>That is so. \\boxed{True}"
const no = "<think>b</think>That is not so. \\boxed{False}"

describe("items that follow from items", () => {
  it.live("judge both solutions; what a right verdict on a wrong one is worth is what it helps", () =>
    Effect.gen(function* () {
      const { failed, groups } = yield* followed({
        solve: solutions,
        judgeRight: [yes, no],
        judgeWrong: [no, yes],
        retry: ["<think>x</think>now it is \\boxed{18}", "<think>y</think>still it is \\boxed{17}"]
      })
      assert.isEmpty(failed)
      assert.deepStrictEqual(
        groups.map(({ label, scores }) => [label, scores]),
        [
          ["What is 9 + 9?", [1, -1]],
          ["judge: What is 9 + 9?", [1, -1]],
          ["judge: What is 9 + 9?", [0.5, -1]],
          ["selfcorrect: What is 9 + 9?", [1, -1]]
        ]
      )
    })
  )

  it.live("correct nothing where the tries are all right, and the verdict is worth 1", () =>
    Effect.gen(function* () {
      const { groups } = yield* followed({
        solve: solutions,
        judgeRight: [yes],
        judgeWrong: [no, yes],
        retry: ["<think>x</think>now it is \\boxed{18}"]
      })
      assert.deepStrictEqual(
        groups.map(({ scores }) => scores),
        [
          [1, -1],
          [1, 1],
          [1, -1]
        ]
      )
    })
  )

  it.live("compare two right solutions in both orders, in a group of two", () =>
    Effect.gen(function* () {
      const { groups } = yield* followed(
        {
          solve: [right.completion, other.completion, right.completion],
          compare: (first) => (first.includes("twice") ? "[[A]]" : "[[B]]")
        },
        { groupSize: 3 }
      )
      assert.deepStrictEqual(
        groups.map(({ label, scores }) => [label, scores]),
        [
          ["What is 9 + 9?", [1, 1, 1]],
          ["rlaif: What is 9 + 9?", [-1, 1]]
        ]
      )
      assert.deepInclude(groups[1]!.group, { groupOverrides: { group_size: 2 } })
    })
  )

  it.live("leave two right solutions of which neither is preferred", () =>
    Effect.gen(function* () {
      const bySide = yield* followed({ solve: [right.completion, other.completion], compare: () => "[[A]]" })
      assert.deepStrictEqual(bySide.failed, ["rlaif: What is 9 + 9?: neither of two right solutions is preferred"])
      assert.strictEqual(bySide.groups.length, 1)
    })
  )

  it.live("are not there where they are not asked for", () =>
    Effect.gen(function* () {
      const { groups } = yield* followed({ solve: solutions, judgeRight: [yes] }, { followUps: false })
      assert.deepStrictEqual(
        groups.map(({ scores }) => scores),
        [[1, -1]]
      )
    })
  )
})

describe("Mathematics and a policy that says the prompt back", () => {
  it.live("gives it nothing", () =>
    Effect.gen(function* () {
      const scores = yield* scoresOf(100)
      assert.isTrue(scores.every((score) => score === -1))
    }).pipe(Effect.provide(environment({ groupSize: 1, followUps: false, maxTokenLength: 100_000 }, echo)))
  )
})
