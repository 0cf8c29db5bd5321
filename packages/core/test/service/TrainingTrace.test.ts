/** Training traces of OpenEnv: sequences become its calls and come back, and its own schema accepts them. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { spawnSync } from "node:child_process"
import * as TrainingTrace from "../../src/service/documents/TrainingTrace.ts"
import { notSampled } from "../../src/trajectory/Trajectory.ts"
import { having, interpreter } from "../Python.ts"

const { absence, isPresent } = having("openenv.core.harness.training")

const messages = [
  { role: "user", content: "2 + 2?" },
  { role: "assistant", content: "4" },
  { role: "user", content: "Sure?" },
  { role: "assistant", content: "Yes" }
]
const none = notSampled
const sequence = {
  messages,
  tokens: Int32Array.of(1, 2, 3, 4, 5, 6, 7),
  mask: Uint8Array.of(0, 0, 1, 1, 0, 0, 1),
  logprobs: Float32Array.of(none, none, -0.5, -0.25, none, none, -1),
  score: 0.5,
  sessionId: "one"
}

const call = (id: string, prompt: ReadonlyArray<number>, completion: ReadonlyArray<number>, mask = 1) => ({
  node_id: id,
  prompt_token_ids: prompt,
  completion_token_ids: completion,
  per_token_logps: completion.map(() => -1),
  loss_mask: [...prompt.map(() => 0), ...completion.map(() => mask)]
})

const run = <A, E>(effect: Effect.Effect<A, E>): A => Effect.runSync(effect)
const failure = <E extends { readonly message: string }>(effect: Effect.Effect<unknown, E>): string =>
  run(Effect.flip(effect)).message

describe("a training trace", () => {
  it("has a call for each answer, with the tokens before it as its prompt", () => {
    const { turns } = run(TrainingTrace.ofSequence(sequence))
    assert.deepStrictEqual(
      turns.map(({ completion_token_ids, loss_mask, node_id, per_token_logps, prompt_token_ids }) => ({
        node_id,
        prompt_token_ids,
        completion_token_ids,
        per_token_logps,
        loss_mask
      })),
      [
        {
          node_id: "one-0",
          prompt_token_ids: [1, 2],
          completion_token_ids: [3, 4],
          per_token_logps: [-0.5, -0.25],
          loss_mask: [0, 0, 1, 1]
        },
        {
          node_id: "one-1",
          prompt_token_ids: [1, 2, 3, 4, 5, 6],
          completion_token_ids: [7],
          per_token_logps: [-1],
          loss_mask: [0, 0, 0, 0, 0, 0, 1]
        }
      ]
    )
    assert.deepStrictEqual(turns[1]!.request, { messages: messages.slice(0, 3) })
    assert.deepStrictEqual(turns[1]!.response, { choices: [{ message: messages[3] }] })
  })

  it("becomes the sequence that it was made of", () => {
    const [back, ...others] = run(TrainingTrace.toSequences(run(TrainingTrace.ofSequence(sequence))))
    assert.deepStrictEqual(others, [])
    const { sessionId: _, ...expected } = sequence
    assert.deepStrictEqual(back, expected)
  })

  it("becomes a sequence for each history, and trains what its masks say", () => {
    const turns = [call("a", [1], [2, 3]), call("b", [9], [8]), call("c", [1, 2, 3, 4], [5], 0)]
    const sequences = run(TrainingTrace.toSequences({ schema_version: 1, turns }))
    assert.deepStrictEqual(
      sequences.map(({ mask, tokens }) => [Array.from(tokens), Array.from(mask)]),
      [
        [
          [1, 2, 3, 4, 5],
          [0, 1, 1, 0, 0]
        ],
        [
          [9, 8],
          [0, 1]
        ]
      ]
    )
  })

  it("is refused with its fault, as is a sequence that it cannot hold", () => {
    const { turns } = run(TrainingTrace.ofSequence(sequence))
    const broken = (change: object) => ({ schema_version: 1, turns: [{ ...turns[0], ...change }] })
    assert.match(failure(TrainingTrace.toSequences(broken({ per_token_logps: [] }))), /2 tokens but 0 logprobs/)
    assert.match(failure(TrainingTrace.toSequences(broken({ loss_mask: [0, 1, 1, 1] }))), /trains tokens of its prompt/)
    assert.match(failure(TrainingTrace.toSequences({ schema_version: 2, turns })), /not a training trace of version 1/)
    const { logprobs: _, ...unknown } = sequence
    assert.match(failure(TrainingTrace.ofSequence(unknown)), /no logprobs/)
    assert.match(failure(TrainingTrace.ofSequence({ ...sequence, mask: new Uint8Array(7) })), /none of its tokens/)
  })

  it.skipIf(!isPresent)(`is accepted by OpenEnv's own schema${absence}`, () => {
    const program =
      "import sys; from openenv.core.harness.training import TrainingTrace; " +
      "print(TrainingTrace.model_validate_json(sys.stdin.read()).model_dump_json())"
    const { status, stderr, stdout } = spawnSync(interpreter, ["-c", program], {
      encoding: "utf8",
      input: JSON.stringify(run(TrainingTrace.ofSequence(sequence)))
    })
    assert.strictEqual(status, 0, stderr)
    const [back] = run(TrainingTrace.toSequences(JSON.parse(stdout)))
    assert.deepStrictEqual(back?.tokens, sequence.tokens)
    assert.deepStrictEqual(back?.mask, sequence.mask)
  })
})
