/** forward_backward as JSON: requests and results of SDKs before 0.25. */
import { Effect, Schema } from "effect"
import type * as FB from "../protocol/ForwardBackward.ts"
import type * as FBResult from "../protocol/ForwardBackwardResult.ts"
import { optional } from "../protocol/Optional.ts"
import * as Sampling from "../protocol/Sampling.ts"
import type { Tensor } from "../protocol/Tensor.ts"
import { Refused } from "../service/Failures.ts"
import * as Http from "./Http.ts"

const areNumbers = (value: unknown): value is ReadonlyArray<number> =>
  Array.isArray(value) && value.every((one) => typeof one === "number")

const JsonTensor = Schema.Struct({
  data: Schema.declare(areNumbers, { expected: "a list of numbers" }),
  dtype: Schema.Literals(["float32", "int64"]),
  shape: optional(Schema.Array(Schema.Natural))
})

const Input = Schema.Struct({
  data: Schema.Array(
    Schema.Struct({
      model_input: Sampling.ModelInput,
      loss_fn_inputs: Schema.Record(Schema.String, JsonTensor)
    })
  ),
  loss_fn: Schema.String,
  loss_fn_config: optional(Schema.Record(Schema.String, Schema.Union([Schema.Finite, Schema.String])))
})

/** The forward endpoint uses another field name for the same data. */
const body = Http.body(
  Schema.Struct({
    model_id: Schema.String,
    seq_id: optional(Schema.Natural),
    forward_backward_input: optional(Input),
    forward_input: optional(Input)
  }),
  Number.POSITIVE_INFINITY
)

const refused = (message: string) => new Refused({ status: 422, message })

const tensorOf = Effect.fnUntraced(function* (
  { data, dtype, shape }: typeof JsonTensor.Type,
  name: string,
  at: number
): Effect.fn.Return<readonly [string, Tensor], Refused> {
  const size = shape?.reduce((product, length) => product * length, 1) ?? data.length
  if (size !== data.length) {
    return yield* refused(`${name} of datum ${at} has ${data.length} elements, but the shape [${shape?.join(", ")}]`)
  }
  const wide = dtype === "int64" ? data.findIndex((value) => value !== (value | 0)) : -1
  if (wide !== -1) {
    return yield* refused(`${name} of datum ${at} is ${data[wide]} at ${wide}: it must be a whole number of 32 bits`)
  }
  const values = dtype === "int64" ? Int32Array.from(data) : Float32Array.from(data)
  return [name, { values, shape: shape ?? [data.length] }]
})

/** A JSON request, with its size. Its number is 0 if absent. */
export const request = Effect.gen(function* () {
  const { bytes, value } = yield* body
  const input = value.forward_backward_input ?? value.forward_input
  if (input === undefined || input === null) return yield* refused("forward_backward_input is missing")
  const data: Array<FB.Datum> = []
  for (const [at, datum] of input.data.entries()) {
    const tokens = Sampling.promptTokens(datum.model_input)
    if (tokens === undefined) return yield* refused(`the model input of datum ${at} has a part that is not text`)
    const source = Object.entries(datum.loss_fn_inputs)
    const inputs = yield* Effect.forEach(source, ([name, tensor]) => tensorOf(tensor, name, at))
    data.push({ tokens: Int32Array.from(tokens), inputs: new Map(inputs) })
  }
  const request: FB.Request = {
    modelId: value.model_id,
    seqId: value.seq_id ?? 0,
    data,
    lossFn: input.loss_fn,
    lossConfig: new Map(Object.entries(input.loss_fn_config ?? {})),
    forwardOnly: false
  }
  return { bytes, request }
})

const jsonTensor = ({ shape, values }: Tensor) => ({
  data: Array.from(values),
  dtype: values instanceof Int32Array ? "int64" : "float32",
  shape
})

export const result = ({ kind, metrics, outputs }: FBResult.Result) => ({
  loss_fn_output_type: kind,
  loss_fn_outputs: outputs.map((output) =>
    Object.fromEntries([...output].map(([name, tensor]) => [name, jsonTensor(tensor)]))
  ),
  metrics: Object.fromEntries(metrics)
})
