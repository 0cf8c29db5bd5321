import { type ScoredGroup, Trajectory } from "@atropos/core"

/** G sequences of T tokens, the first two masked, scores from `score` upwards. */
export const plain = (sequences: number, score = 0, length = 6): ScoredGroup.ScoredGroup => {
  const rows = Array.from({ length: sequences }, (_, row) => row)
  const tokens = rows.map((row) => Int32Array.from({ length }, (_, t) => 10 + row + t))
  return {
    tokens,
    masks: tokens.map(({ length }) => Trajectory.maskFrom(2, length)),
    scores: Float64Array.from(rows, (row) => score + row),
    inferenceLogprobs: tokens.map((row) =>
      Float32Array.from(row, (_, t) => (t < 2 ? Trajectory.notSampled : -0.25 * t))
    )
  }
}

export const full: ScoredGroup.ScoredGroup = {
  tokens: [Int32Array.of(1, 5, 7, 9), Int32Array.of(1, 5, 8)],
  masks: [Uint8Array.of(0, 0, 1, 1), Uint8Array.of(0, 0, 1)],
  scores: Float64Array.of(1, -0.1),
  advantages: [Float32Array.of(0, 0, 0.5, 0.25), Float32Array.of(0, 0, -0.5)],
  refLogprobs: [Float32Array.of(0, -1, -0.5, -2), Float32Array.of(0, -1, -4)],
  inferenceLogprobs: [Float32Array.of(NaN, NaN, -0.125, -3), Float32Array.of(NaN, NaN, -2.5)],
  messages: [
    [
      { role: "user", content: "2 + 2?" },
      { role: "assistant", content: "4 é 🙂", reward: 1 }
    ],
    [
      { role: "user", content: "2 + 2?" },
      { role: "assistant", content: null, tool_calls: [{ function: { name: "add", arguments: "{}" } }] }
    ]
  ],
  generationParams: { temperature: 0.5 },
  overrides: [{ set_advantage_to_zero: true }, {}],
  rewards: [{ correct: 1, format: 0.5 }, { correct: 0 }],
  groupOverrides: { sft: false },
  images: ["data:image/png;base64,AAAA", null],
  distillTokenIds: [
    [Int32Array.of(), Int32Array.of(5), Int32Array.of(7, 8), Int32Array.of(9)],
    [Int32Array.of(), Int32Array.of(5), Int32Array.of(8)]
  ],
  distillLogprobs: [
    [Float32Array.of(), Float32Array.of(-1), Float32Array.of(-0.5, -1.5), Float32Array.of(0)],
    [Float32Array.of(), Float32Array.of(-1), Float32Array.of(-0.25)]
  ]
}

/** Converts values to plain arrays, for comparison regardless of the array type. */
export const plainValues = (value: unknown): unknown => {
  if (ArrayBuffer.isView(value) && !(value instanceof DataView)) return Array.from(value as unknown as Iterable<number>)
  if (Array.isArray(value)) return value.map(plainValues)
  if (typeof value === "object" && value !== null) {
    return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, plainValues(inner)]))
  }
  return value
}
