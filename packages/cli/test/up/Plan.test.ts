/** What `up` says of a run before it: what a step takes at the lengths that rollouts have. */
import * as TrainerSettings from "@atropos/trainer/run/TrainerSettings"
import * as TinyModel from "@atropos/trainer/model/TinyModel"
import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import type * as Lengths from "../../src/up/Lengths.ts"
import * as Plan from "../../src/up/Plan.ts"

const workload: Plan.Workload = {
  batchSize: 8,
  groupSize: 4,
  steps: 3,
  seqLen: 1000,
  maxTokenLength: 600,
  rows: 8,
  evaluationRows: 8,
  updates: 1
}
const speed = { prompts: 100, decoding: { step: 0.1, row: 0.01 }, training: 200, triedTokens: 100 }
const known: Lengths.Lengths = {
  rollouts: [
    { prompt: 40, answer: 2 },
    { prompt: 60, answer: 4 }
  ],
  prompt: 50,
  areCut: false,
  heldOut: 16
}

const told = (lengths: Lengths.Lengths, load = 0, more: Partial<Plan.Described> = {}): string =>
  Plan.describe({
    model: TinyModel.make({ characters: "ab", seed: 0 }),
    settings: TrainerSettings.complete({}),
    device: "cpu",
    workload,
    lengths,
    expected: Plan.expected(workload, lengths),
    speed,
    memory: { now: 1e9, later: Plan.expected(workload, lengths).map((_, index) => (2 + index) * 1e9) },
    load,
    ...more
  })
    .map((pair) => pair.join(" "))
    .join("\n")

describe("the plan of up", () => {
  it("adds up prompts, steps of decoding with rows that end, and training", () => {
    // 2 prompts of 50; three steps after the first token, of 8, 4 and 4 rows; 8 sequences of 53.
    const seconds = 1 + (0.1 + 0.08) + 2 * (0.1 + 0.04) + (8 * 53) / 200
    const [only, ...others] = Plan.expected(workload, known)
    assert.deepStrictEqual(others, [])
    assert.approximately(Plan.stepSeconds(workload, speed, only), seconds, 1e-9)
    const updates = Plan.stepSeconds({ ...workload, updates: 2 }, speed, only)
    assert.approximately(updates, seconds + (8 * 53) / 200, 1e-9)
    const text = told(known)
    assert.include(text, "prompts of 50 tokens and answers of 3, measured on 2 held-out items")
    assert.include(text, "a step 8 answers: 3.6 s at 3 tokens each\n")
    assert.include(text, "for the 16 held-out items before, and again after")
  })

  it("says where other programs had a part in what was measured", () => {
    assert.include(told(known, 1000), "other programs are running (load 1000)")
    assert.notInclude(told(known, 1), "other programs")
  })

  it("gives two times where answers are not known", () => {
    const unknown = { ...known, rollouts: [], areCut: true }
    const text = told(unknown)
    assert.deepStrictEqual(
      Plan.expected(workload, unknown).map(({ answers }) => answers),
      [[200], [600]]
    )
    assert.match(text, /at 200 tokens each, .* at 600 tokens each/)
    assert.include(text, "prompts of 50 tokens; the model is too slow to measure its answers")
    assert.include(text, "2.0 GB to 3.0 GB at the peak")
    const nothing = told({ rollouts: [], prompt: undefined, areCut: false, heldOut: 0 })
    assert.include(nothing, "assuming prompts of 200 tokens")
    assert.notInclude(nothing, "held-out")
  })

  const long = { ...workload, batchSize: 64, groupSize: 8, steps: 400, rows: 64 }
  /** Advice of a run of hours. */
  const advised = (lengths: Lengths.Lengths, more: Partial<Plan.Described> = {}): string =>
    told(lengths, 0, { workload: long, expected: Plan.expected(long, lengths), ...more })

  it("advises a limit that nearly all answers keep to, and none where answers are not known", () => {
    const answers = [20, 22, 25, 25, 26, 28, 30, 31, 40, 600]
    const spread = { ...known, rollouts: answers.map((answer) => ({ prompt: 50, answer })) }
    assert.match(advised(spread), /--env\.max_token_length 48: .* in total; one in ten answers would be truncated/)
    const alike = { ...known, rollouts: answers.map(() => ({ prompt: 50, answer: 200 })) }
    assert.notInclude(advised(alike), "--env.max_token_length")
    assert.notInclude(advised({ ...known, rollouts: [], areCut: true }), "--env.max_token_length")
  })

  it("advises fewer prompts down to four, 8 bits, fewer held-out items and steps, each with what it gives", () => {
    const text = advised({ ...known, heldOut: 4000 }, { heldOutSetting: "evaluation_items" })
    assert.match(text, /--batch_size 32: [\d. a-z]+ in total/)
    assert.match(text, /--quantize int8: about [\d. a-z]+ in total/)
    assert.match(text, /--env\.evaluation_items 1000: [\d. a-z]+ in total/)
    assert.match(text, /--steps 200: [\d. a-z]+ in total/)
    const few = { ...long, batchSize: 32, steps: 4000 }
    assert.notInclude(told(known, 0, { workload: few, expected: Plan.expected(few, known) }), "--batch_size")
    const rounded = TrainerSettings.complete({ trainer: { quantize: "int8" } })
    assert.notInclude(advised(known, { settings: rounded }), "--quantize")
  })

  it("has the memory and computation of an engine in a process of its own, and advises nothing that it refuses", () => {
    const settings = TrainerSettings.complete({ trainer: { engine: "torch" } })
    const elsewhere = [["engine", "PyTorch 2.13.0 in a process on the CPU, float32"]] as const
    const text = advised({ ...known, heldOut: 4000 }, { settings, elsewhere })
    assert.include(text, "engine PyTorch 2.13.0 in a process on the CPU, float32")
    assert.include(text, "at the peak: KV cache")
    assert.notMatch(text, /token_budget\),|--quantize/)
  })

  it("asks held-out items between steps where that takes a tenth of the time, ten times at most", () => {
    assert.strictEqual(Plan.evaluateEvery(40, 10, 3), 4)
    assert.strictEqual(Plan.evaluateEvery(40, 10, 12), 12)
    assert.isUndefined(Plan.evaluateEvery(40, 10, 21))
    assert.isUndefined(Plan.evaluateEvery(1, 10, 0.1))
    assert.isUndefined(Plan.evaluateEvery(40, 10, 0))
  })

  it("says what it chose and why", () => {
    const chosen = { maxTokenLength: 2048, steps: true }
    const text = told(known, 0, { chosen, workload: { ...workload, maxTokenLength: 64 } })
    assert.include(text, "answers of up to 64 tokens: the longest of 2 held-out answers has 4 (--env.max_token_length;")
    assert.match(text, /steps 10, with a warm-up of 0; fewer rarely show if a reward rises \(--steps, --warmup_steps\)/)
  })

  const sizes = Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 400 }))
  it.prop("takes longer for more and for longer answers", { answer: sizes, rows: sizes }, ({ answer, rows }) => {
    const at = (batchSize: number, length: number) =>
      Plan.stepSeconds({ ...workload, batchSize, rows: Math.min(rows, 64) }, speed, { prompt: 50, answers: [length] })
    assert.isAbove(at(64, answer + 1), at(64, answer))
    assert.isAbove(at(128, answer), at(64, answer))
  })
})
