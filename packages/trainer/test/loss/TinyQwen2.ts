/**
 * The random Qwen2 of the loss fixtures with its LoRA adapter, as a policy: the shortest graph that computes it, in float64 or
 * float32, so that losses are tested on a transformer whatever the trainer's own decoder does.
 */
import { readFileSync } from "node:fs"
import type { Graph } from "../../src/graph/Graph.ts"
import type { Value } from "../../src/graph/Value.ts"
import type { Layout, Policy } from "../../src/TrainGraph.ts"
import config from "../fixtures/loss-model/config.json" with { type: "json" }

const { hidden_size: width, num_attention_heads: heads, num_key_value_heads: kvHeads, rms_norm_eps: epsilon } = config
const headWidth = width / heads
const rotaryBase = config.rope_parameters.rope_theta

/** float32 tensors of a safetensors file. */
const tensors = (
  path: URL
): ReadonlyMap<string, { readonly shape: ReadonlyArray<number>; readonly data: Float32Array }> => {
  const bytes = readFileSync(path)
  const length = Number(bytes.readBigUInt64LE(0))
  const header: Record<string, { shape?: ReadonlyArray<number>; data_offsets?: readonly [number, number] }> =
    JSON.parse(bytes.toString("utf8", 8, 8 + length))
  return new Map(
    Object.entries(header).flatMap(([name, { data_offsets: offsets, shape }]) => {
      if (shape === undefined || offsets === undefined) return []
      const data = new Float32Array(
        new Uint8Array(bytes.subarray(8 + length + offsets[0], 8 + length + offsets[1])).buffer
      )
      return [[name, { shape, data }] as const]
    })
  )
}

const weights = tensors(new URL("../fixtures/loss-model/model.safetensors", import.meta.url))

/** Adapter parameters one after the other, in the order of the names. */
export const layoutOf = (names: ReadonlyArray<string>, rank: number): Layout => {
  let offset = 0
  const slots = names.map((name) => {
    const [out, into] = weights.get(name.replace(/\.lora_[AB]\.weight$/, ".weight"))!.shape
    const shape = name.includes("lora_A") ? [rank, into!] : [out!, rank]
    const slot = { name, shape, offset, size: shape[0]! * shape[1]! }
    offset += slot.size
    return slot
  })
  return { slots, size: offset }
}

const array = (graph: Graph, data: Float32Array | Float64Array) =>
  graph.real === "float64" ? Float64Array.from(data) : Float32Array.from(data)

/** cos and sin of position times frequency, (B, 1, T, headWidth). */
const rotation = (graph: Graph, positions: Value): readonly [Value, Value] => {
  const angles = Float64Array.from({ length: 128 * headWidth }, (_, i) => {
    const frequency = i % (headWidth / 2)
    return Math.floor(i / headWidth) / rotaryBase ** ((2 * frequency) / headWidth)
  })
  const table = (name: string, f: (angle: number) => number) => {
    const values = graph.initializer(name, graph.real, [128, headWidth], array(graph, angles.map(f)))
    return graph.reshape(graph.gather(values, positions), ["B", 1, "T", headWidth])
  }
  return [table("cos", Math.cos), table("sin", Math.sin)]
}

export const tinyQwen2 = (layout: Layout, scale: number): Policy => ({
  layout,
  build: (graph, trainable, { inputIds, positionIds, remat, segmentIds }) => {
    const tokens = graph.dimMul("B", "T")
    const weight = (name: string) => {
      const { data, shape } = weights.get(name)!
      return graph.initializer(name, graph.real, shape, array(graph, data))
    }
    const linear = (x: Value, name: string): Value => {
      const y = graph.gemm(x, weight(`${name}.weight`), false, true)
      const a = trainable(`${name}.lora_A.weight`)!
      const b = trainable(`${name}.lora_B.weight`)!
      const low = graph.gemm(graph.gemm(x, a, false, true), b, false, true)
      const sum = graph.add(y, graph.scale(low, scale))
      return weights.has(`${name}.bias`) ? graph.add(sum, weight(`${name}.bias`)) : sum
    }
    const norm = (x: Value, name: string): Value => {
      const square = graph.mean(graph.mul(x, x), [-1], true)
      const size = graph.sqrt(graph.add(square, graph.scalar(epsilon)))
      return graph.mul(graph.div(x, size), weight(`${name}.weight`))
    }
    const grid = (value: Value, shape: ReadonlyArray<string | number>) => graph.reshape(value, shape)
    const sees = graph.and(
      graph.equal(grid(segmentIds, ["B", 1, "T", 1]), grid(segmentIds, ["B", 1, 1, "T"])),
      graph.lessEq(grid(positionIds, ["B", 1, 1, "T"]), grid(positionIds, ["B", 1, "T", 1]))
    )
    const [cos, sin] = rotation(graph, positionIds)
    const split = (x: Value, count: number) => graph.transpose(grid(x, ["B", "T", count, headWidth]), [0, 2, 1, 3])
    const rotate = (x: Value) => {
      const [a, b] = graph.split(x, 3, 2)
      return graph.add(graph.mul(x, cos), graph.mul(graph.concat([graph.neg(b!), a!], 3), sin))
    }
    const repeat = (x: Value) => {
      const wide = graph.expand(grid(x, ["B", kvHeads, 1, "T", headWidth]), [
        "B",
        kvHeads,
        heads / kvHeads,
        "T",
        headWidth
      ])
      return grid(wide, ["B", heads, "T", headWidth])
    }
    const attention = (x: Value, at: string): Value => {
      const y = norm(x, `${at}.input_layernorm`)
      const q = rotate(split(linear(y, `${at}.self_attn.q_proj`), heads))
      const k = repeat(rotate(split(linear(y, `${at}.self_attn.k_proj`), kvHeads)))
      const v = repeat(split(linear(y, `${at}.self_attn.v_proj`), kvHeads))
      const scores = graph.scale(graph.matmul(q, graph.transpose(k, [0, 1, 3, 2])), headWidth ** -0.5)
      const mixed = graph.matmul(graph.softmax(graph.where(sees, scores, graph.scalar(-1e9))), v)
      return graph.add(x, linear(grid(graph.transpose(mixed, [0, 2, 1, 3]), [tokens, width]), `${at}.self_attn.o_proj`))
    }
    const feedForward = (x: Value, at: string): Value => {
      const y = norm(x, `${at}.post_attention_layernorm`)
      const gate = linear(y, `${at}.mlp.gate_proj`)
      const active = graph.mul(graph.mul(gate, graph.sigmoid(gate)), linear(y, `${at}.mlp.up_proj`))
      return graph.add(x, linear(active, `${at}.mlp.down_proj`))
    }
    const embed = weight("model.embed_tokens.weight")
    let x = grid(graph.gather(embed, inputIds), [tokens, width])
    for (let layer = 0; layer < config.num_hidden_layers; layer++) {
      const block = () => feedForward(attention(x, `model.layers.${layer}`), `model.layers.${layer}`)
      x = remat ? graph.checkpoint([x], block) : block()
    }
    return { hidden: norm(x, "model.norm"), head: embed }
  }
})
