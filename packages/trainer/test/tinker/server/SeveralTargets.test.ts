/** Several targets for a position, as distillation from a teacher's likeliest tokens has them. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import type * as FB from "../../../src/tinker/protocol/ForwardBackward.ts"
import * as Tensor from "../../../src/tinker/protocol/Tensor.ts"
import { computed, created, done, live, opened, result, send, serve, step } from "./TestTinkerServer.ts"

const tokens = Int32Array.of(3, 4, 5, 6)
const columns = [
  { targets: [4, 5, 6, 7], weights: [0.7, 0.5, 1, 0] },
  { targets: [5, 6, 7, 8], weights: [0.3, 0.25, 0, 0.5] },
  { targets: [2, 2, 3, 3], weights: [0, 0.25, 0, 0.5] }
]
const shape = [tokens.length, columns.length]

/** Numbers of all columns, row by row. */
const matrix = (of: "targets" | "weights") => Array.from(tokens).flatMap((_, t) => columns.map((one) => one[of][t]!))

const inputs = (targets: Tensor.Tensor, weights: Tensor.Tensor): FB.Datum => ({
  tokens,
  inputs: new Map([
    ["target_tokens", targets],
    ["weights", weights]
  ])
})

const together = inputs(
  { values: Int32Array.from(matrix("targets")), shape },
  { values: Float32Array.from(matrix("weights")), shape }
)
const apart = columns.map(({ targets, weights }) =>
  inputs(Tensor.row(Int32Array.from(targets)), Tensor.row(Float32Array.from(weights)))
)
const plain = apart[0]!

describe("several targets for a position", () => {
  it.live("have the loss, the gradient and the logprobs of a datum for each, as a matrix", () =>
    live(
      Effect.gen(function* () {
        const client = yield* serve()
        const session = yield* opened(client)
        const [one, many] = [
          yield* created(client, session, { number: 0 }),
          yield* created(client, session, { number: 1 })
        ]
        const ours = yield* computed(client, { model: one, number: 1, data: [plain, together, plain] })
        const theirs = yield* computed(client, { model: many, number: 1, data: [plain, ...apart, plain] })
        assert.closeTo(ours.metrics.get("loss:sum")!, theirs.metrics.get("loss:sum")!, 1e-5)
        assert.deepStrictEqual(
          ours.outputs.map((output) => output.get("logprobs")!.shape),
          [[4], shape, [4]]
        )
        for (const name of ["logprobs", "elementwise_loss"]) {
          const expected = Array.from(tokens).flatMap((_, t) =>
            columns.map((_, k) => theirs.outputs[k + 1]!.get(name)!.values[t]!)
          )
          const got = ours.outputs[1]!.get(name)!.values
          for (const [at, value] of expected.entries()) assert.closeTo(got[at]!, value, 1e-5)
        }
        const norms = [yield* step(client, one, 2), yield* step(client, many, 2)].map(
          ({ metrics }) => metrics["grad_norm:max"]
        )
        assert.isAbove(norms[0], 0)
        assert.closeTo(norms[0], norms[1], 1e-4 * norms[1])
        const asJson = {
          model_input: { chunks: [{ type: "encoded_text", tokens: [...tokens] }] },
          loss_fn_inputs: {
            target_tokens: { data: matrix("targets"), dtype: "int64", shape },
            weights: { data: matrix("weights"), dtype: "float32", shape }
          }
        }
        const json = yield* done(client, "forward", {
          model_id: many,
          seq_id: 3,
          forward_input: { data: [asJson], loss_fn: "cross_entropy" }
        })
        assert.deepStrictEqual(json.loss_fn_outputs[0].logprobs.shape, shape)
        assert.strictEqual(json.loss_fn_outputs[0].logprobs.data.length, 12)
      })
    )
  )

  it.live("are refused by name where their shapes do not agree, and by losses that know one", () =>
    live(
      Effect.gen(function* () {
        const client = yield* serve()
        const model = yield* created(client, yield* opened(client))
        const policy: FB.Datum = {
          tokens,
          inputs: new Map([
            ["target_tokens", together.inputs.get("target_tokens")!],
            ["logprobs", Tensor.row(new Float32Array(4).fill(-1))],
            ["advantages", Tensor.row(new Float32Array(4))]
          ])
        }
        const cases = [
          [inputs(together.inputs.get("target_tokens")!, plain.inputs.get("weights")!), "cross_entropy", "the same"],
          [
            inputs({ values: new Int32Array(9), shape: [3, 3] }, { values: new Float32Array(9), shape: [3, 3] }),
            "cross_entropy",
            "it must be [4] or [4, K]"
          ],
          [policy, "importance_sampling", "only cross_entropy supports"]
        ] as const
        for (const [at, [datum, loss, said]] of cases.entries()) {
          const { json } = yield* send(client, { model, number: at + 1, data: [datum], loss })
          assert.include((yield* result(client, json.request_id)).json.error, said)
        }
        const short = { data: [1, 2], dtype: "int64", shape: [4] }
        const refused = yield* client.post("forward_backward", {
          model_id: model,
          seq_id: 4,
          forward_backward_input: {
            data: [{ model_input: { chunks: [{ tokens: [1, 2, 3, 4] }] }, loss_fn_inputs: { target_tokens: short } }],
            loss_fn: "cross_entropy"
          }
        })
        const { error } = (yield* result(client, refused.json.request_id)).json
        assert.include(error, "target_tokens of datum 0 has 2 elements, but the shape [4]")
      })
    )
  )
})
