import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { Executor } from "../../src/exec/Executor.ts"
import * as Ort from "../../src/exec/Ort.ts"
import { Graph } from "../../src/graph/Graph.ts"
import { toOnnx } from "../../src/graph/Onnx.ts"
import * as RopeScaling from "../../src/model/family/RopeScaling.ts"
import * as Rope from "../../src/model/family/Rope.ts"

const rope = { width: 8, theta: 500_000, scaling: undefined }

layer(Ort.layer({ threads: 1 }), { excludeTestServices: true })("Rope.angles", (it) => {
  it.effect.each([4096, 131_072])("are those of the position to single precision, up to %i positions", (maxPositions) =>
    Effect.gen(function* () {
      const graph = new Graph()
      const { cos, sin } = Rope.angles(graph, rope, maxPositions, graph.input("position_ids", "int32", ["B", "T"]))
      graph.output("cos", cos)
      graph.output("sin", sin)
      const model = toOnnx(graph)
      // 131,072 rows of two tables of 8 floats would be 8 MB.
      assert.isBelow(model.onnx.length, 400_000)
      const program = yield* (yield* Executor).load(model)
      const positions = Int32Array.of(
        0,
        1,
        77,
        4095,
        maxPositions / 2,
        maxPositions / 2 + 1,
        maxPositions - 4096,
        maxPositions - 1
      )
      const { host } = yield* program.run({ position_ids: { dtype: "int32", shape: [2, 4], data: positions } })
      const frequencies = RopeScaling.frequencies(rope, maxPositions)
      positions.forEach((position, at) => {
        for (let i = 0; i < 8; i++) {
          const angle = position * frequencies[i % 4]!
          assert.closeTo(Number(host["cos"]!.data[at * 8 + i]), Math.cos(angle), 3e-7)
          assert.closeTo(Number(host["sin"]!.data[at * 8 + i]), Math.sin(angle), 3e-7)
        }
      })
    }).pipe(Effect.scoped)
  )
})
