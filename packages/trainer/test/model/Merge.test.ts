import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, layer } from "@effect/vitest"
import { Effect, FileSystem, Layer } from "effect"
import * as Ort from "../../src/exec/Ort.ts"
import * as Merge from "../../src/model/Merge.ts"
import * as ModelFolder from "../../src/model/ModelFolder.ts"
import * as Parameters from "../../src/model/Parameters.ts"
import * as Architectures from "./Architectures.ts"
import * as Fixtures from "./Fixtures.ts"

/** The literals of a configuration that Python reads as floats, and JavaScript would write as integers. */
const floatsOf = Effect.fnUntraced(function* (folder: string) {
  const fs = yield* FileSystem.FileSystem
  return (yield* fs.readFileString(`${folder}/config.json`)).match(/\d+\.0\b/g)
})

const services = Layer.mergeAll(Ort.layer({ threads: 1 }), NodeServices.layer)

layer(services, { excludeTestServices: true })("a merged model", (it) => {
  const ofText = ["gemma3-pictures", "mistral3", "mistral3-ministral3"]
  it.effect.each([...ofText, "adapter-dora", "adapter-outer", "adapter-embedding-scaled", "adapter-saved", "phi3"])(
    "has without its adapter the logits that PEFT has with it: %s",
    (name) =>
      Effect.gen(function* () {
        const to = `${yield* (yield* FileSystem.FileSystem).makeTempDirectoryScoped()}/merged`
        const folder = Architectures.folder(name)
        const asked = { model: folder, adapter: `${folder}/adapter`, to, type: "F32" } as const
        yield* Merge.merge(asked)
        const { expected } = yield* Architectures.load(folder)
        const config = yield* ModelFolder.readConfig(to)
        const weights = ModelFolder.weights(config, yield* ModelFolder.readEntries(to, config))
        const model = { config, weights, adapter: undefined, layout: Parameters.layout([]) }
        const merged = { expected, model, parameters: new Float32Array(0) }
        const { logits } = yield* Architectures.forwardAndBackward(merged, { attention: "rows", remat: "parts" })
        expected.inputIds.forEach((_, i) =>
          assert.isBelow(Fixtures.maxDifference(logits[i]!, Fixtures.floats(expected.logits[i]!)), 1e-4)
        )
        // A number that Python takes for a float stays one; those of a part for pictures are not there.
        const floats = yield* floatsOf(folder)
        if (ofText.includes(name)) assert.includeMembers([...(floats ?? [])], [...((yield* floatsOf(to)) ?? [])])
        else assert.deepStrictEqual(yield* floatsOf(to), floats)
        const again = yield* Effect.flip(Merge.merge(asked))
        assert.match(again.message, /already contains a model/)
      }).pipe(Effect.scoped)
  )

  it.effect("says how large the rounding to bfloat16 is beside the adapter's change, and none for float32", () =>
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const root = yield* fs.makeTempDirectoryScoped()
      const folder = Architectures.folder("phi3")
      const merged = (type: "F32" | "BF16") =>
        Merge.merge({ model: folder, adapter: `${folder}/adapter`, to: `${root}/${type}`, type })
      assert.strictEqual((yield* merged("F32")).roundingShare, 0)
      const { roundingShare } = yield* merged("BF16")
      // Eight bits of a weight, beside a change about as large as it is.
      assert.isAbove(roundingShare, 1e-4)
      assert.isBelow(roundingShare, 1)
      const written = yield* ModelFolder.readEntries(`${root}/BF16`, yield* ModelFolder.readConfig(`${root}/BF16`))
      assert.isTrue([...written.values()].every(({ dtype }) => dtype === "BF16"))
    }).pipe(Effect.scoped)
  )
})
