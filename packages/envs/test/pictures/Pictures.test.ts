import { Columns, Dataset, Environment, Laws, SeededRandom, ServerManager } from "@atropos/core"
import { Picture } from "@atropos/envs"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Schema, Stream } from "effect"
import { readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import sharp from "sharp"
import * as Ocr from "../../src/pictures/Ocr.ts"
import * as SceneItems from "../../src/pictures/SceneItems.ts"
import * as TextItems from "../../src/pictures/TextItems.ts"
import * as Scenes from "../../src/pictures/Scenes.ts"
import * as VqaDataset from "../../src/pictures/VqaDataset.ts"

const seeds = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 100_000 }))
const parquet = fileURLToPath(new URL("../fixtures/pictures.parquet", import.meta.url))

/** The colour of a pixel of a PNG, as three numbers. */
const pixel = (bytes: Uint8Array, left: number, top: number) =>
  Effect.promise(async () => {
    const { data } = await sharp(bytes)
      .extract({ left, top, width: 1, height: 1 })
      .removeAlpha()
      .raw()
      .toBuffer({ resolveWithObject: true })
    return Array.from(data)
  })

/** Why a picture is refused; the error names it. */
const reasonOf = (given: Uint8Array, limits = Picture.defaultLimits) =>
  Effect.map(Effect.flip(Picture.check("row 7", given, limits)), ({ message, reason }) => {
    assert.include(message, "row 7: ")
    return reason
  })

describe("Picture", () => {
  const dot = `<svg xmlns="http://www.w3.org/2000/svg" width="40" height="30"><rect width="40" height="30" fill="#ff0000"/></svg>`

  it.effect("draws SVG as PNG, the same bytes every time", () =>
    Effect.gen(function* () {
      const [one, other] = [yield* Picture.render(dot), yield* Picture.render(dot)]
      assert.deepStrictEqual(one.bytes, other.bytes)
      assert.deepStrictEqual([one.width, one.height], [40, 30])
      assert.deepStrictEqual(yield* pixel(one.bytes, 20, 15), [255, 0, 0])
      assert.match(Picture.dataUrl(one), /^data:image\/png;base64,iVBOR/)
    })
  )

  it.effect("refuses by name what is too large, broken, or no picture of a known format", () =>
    Effect.gen(function* () {
      const { bytes } = yield* Picture.render(dot)
      assert.strictEqual((yield* Picture.check("row 7", bytes)).width, 40)
      assert.strictEqual(yield* reasonOf(bytes, { ...Picture.defaultLimits, maxBytes: 10 }), "tooManyBytes")
      assert.strictEqual(yield* reasonOf(bytes, { ...Picture.defaultLimits, maxPixels: 1199 }), "tooManyPixels")
      assert.strictEqual(yield* reasonOf(bytes.slice(0, bytes.length - 20)), "broken")
      assert.strictEqual(yield* reasonOf(new TextEncoder().encode("no picture")), "format")
      assert.strictEqual(yield* reasonOf(new TextEncoder().encode(dot)), "format")
    })
  )
})

const scene = (seed: number) => SceneItems.draw(SeededRandom.seeded(seed, 0), ["count", "colour", "relation"], 7)

describe("Scenes", () => {
  it.prop("the answer follows from the things, not from how the question was made", [seeds], ([seed]) => {
    const { answer, kind, question, things } = scene(seed)
    if (kind === "count") {
      const [, colour, shape] = /^How many (?:(\w+) )?(\w+)s are/.exec(question)!
      const counted = things.filter(
        (thing) => thing.shape === shape && (colour === undefined || thing.colour === colour)
      )
      assert.strictEqual(answer, String(counted.length))
    } else if (kind === "colour") {
      const [, shape] = /colour is the (\w+)\?/.exec(question)!
      const meant = things.filter((thing) => thing.shape === shape)
      assert.deepStrictEqual(
        meant.map(({ colour }) => colour),
        [answer]
      )
    } else {
      const [, first, relation, second] = /^Is the (\w+ \w+) (.+) the (\w+ \w+)\?/.exec(question)!
      const [a, b] = [first, second].map((name) => {
        const meant = things.filter(({ colour, shape }) => `${colour} ${shape}` === name)
        assert.strictEqual(meant.length, 1)
        return meant[0]!
      })
      const holds = {
        "to the left of": a!.column < b!.column,
        "to the right of": a!.column > b!.column,
        above: a!.row < b!.row,
        below: a!.row > b!.row
      }[relation!]
      assert.strictEqual(answer, holds ? "yes" : "no")
    }
  })

  it("yes and no are asked for equally often", () => {
    const answers = Array.from(
      { length: 600 },
      (_, seed) => SceneItems.draw(SeededRandom.seeded(seed, 1), ["relation"], 7).answer
    )
    assert.approximately(answers.filter((answer) => answer === "yes").length / answers.length, 0.5, 0.07)
  })

  it.effect("the picture shows the things where they are", () =>
    Effect.gen(function* () {
      const things = [
        { shape: "square", colour: "black", column: 0, row: 3 },
        { shape: "circle", colour: "red", column: 2, row: 1 }
      ] as const
      const { bytes } = yield* Picture.render(SceneItems.toSvg({ things }))
      assert.deepStrictEqual(yield* pixel(bytes, 32, 3 * 64 + 32), [0x11, 0x11, 0x11])
      assert.deepStrictEqual(yield* pixel(bytes, 2 * 64 + 32, 64 + 32), [0xd6, 0x27, 0x28])
      assert.deepStrictEqual(yield* pixel(bytes, 3 * 64 + 32, 3 * 64 + 32), [0xf4, 0xf1, 0xea])
    })
  )

  it.effect("the picture goes to the model and into the group, once for every rollout", () =>
    Effect.gen(function* () {
      const { groups } = yield* Environment.Environment
      const [group] = yield* Stream.runCollect(Stream.take(groups, 1))
      const images = group!.images as ReadonlyArray<string>
      assert.strictEqual(images.length, 3)
      const parts = group!.messages![0]![1]!.content as ReadonlyArray<{ readonly image_url?: { readonly url: string } }>
      assert.strictEqual(parts[0]!.image_url!.url, images[0])
      assert.match(images[0]!, /^data:image\/png;base64,/)
    }).pipe(
      Effect.provide(
        Scenes.layer({ groupSize: 3 }).pipe(
          Layer.provide(ServerManager.layerScripted(["<answer>1</answer>", "<answer>red</answer>", "?"]))
        )
      )
    )
  )
})

describe("Ocr", () => {
  it("reads one amount, in its usual forms", () => {
    assert.strictEqual(Ocr.amountOf("12.3"), "12.30")
    assert.strictEqual(Ocr.amountOf("$ 1,204.50"), "1204.50")
    assert.strictEqual(Ocr.amountOf("12,30 euros"), "12.30")
    for (const minus of "-\u2212\u2013\u2011\uff0d") assert.strictEqual(Ocr.amountOf(`${minus}$12.30`), "-12.30")
    assert.isUndefined(Ocr.amountOf("12.30 or 12.40"))
    assert.isUndefined(Ocr.amountOf("twelve"))
    assert.strictEqual(Ocr.amountOf("Total - 12.30"), "12.30")
    // Neither is 12.30.
    assert.strictEqual(Ocr.amountOf("-12.30"), "-12.30")
    assert.strictEqual(Ocr.amountOf("-$12.30"), "-12.30")
    assert.isUndefined(Ocr.amountOf("12.304"))
  })

  it.prop("a total is the sum of the prices on its receipt", [seeds], ([seed]) => {
    const { answer, svg } = TextItems.draw(SeededRandom.seeded(seed, 0), ["receipt-total"])
    const amounts = Array.from(svg.matchAll(/>[a-z]+ +(\d+\.\d\d)</g), ([, amount]) => Math.round(100 * Number(amount)))
    assert.strictEqual(
      amounts.reduce((sum, amount) => sum + amount, 0),
      Math.round(100 * Number(answer))
    )
  })

  it("nearly right words earn something, half wrong ones nothing", () => {
    const sign = { kind: "sign", answer: "Exit 12 Mill Lane" } as const
    const scoreOf = (text: string) => Ocr.judge(sign, `<answer>${text}</answer>`).closeness
    assert.strictEqual(scoreOf("exit 12, mill lane"), 1)
    assert.isTrue(scoreOf("Exit 12 Mill Lame") > 0.8 && scoreOf("Exit 12 Mill Lame") < 1)
    assert.strictEqual(scoreOf("Bus 7"), 0)
    assert.deepStrictEqual(Ocr.judge(sign, sign.answer), { format: 0, closeness: 0 })
  })

  it.effect("all that is written fits into its picture", () =>
    Effect.forEach(Array.from({ length: 5 }).keys(), (seed) =>
      Effect.gen(function* () {
        const { svg } = TextItems.draw(SeededRandom.seeded(seed, 3), ["receipt-total", "sign"])
        const { bytes, height, width } = yield* Picture.render(svg)
        // A column of pixels at either edge is ground alone.
        for (const left of [2, width - 3]) {
          const colours = new Set<string>()
          for (let top = 2; top < height; top += 3) colours.add((yield* pixel(bytes, left, top)).join())
          assert.strictEqual(colours.size, 1, `seed ${seed}, column ${left}`)
        }
      })
    )
  )
})

describe("VqaDataset", () => {
  const services = Layer.mergeAll(
    ServerManager.layerScripted(["<answer>Red.</answer>", "<answer>circle</answer>"]),
    Dataset.layer.pipe(Layer.provide(NodeServices.layer))
  )
  const settings = { source: parquet, answerColumn: "answers", groupSize: 2 }

  it.effect("rows of a parquet file with pictures become groups; a broken picture is told and left out", () =>
    Effect.gen(function* () {
      const { work } = yield* Environment.Environment
      const rolled = yield* Stream.runCollect(
        work(0).pipe(
          Stream.take(3),
          Stream.mapEffect(({ label, rollOut }) =>
            rollOut.pipe(
              Effect.map(({ groups }) => ({ label, scores: Array.from(groups[0]!.scores), problem: "" })),
              Effect.catchTag("Unscorable", ({ message }) => Effect.succeed({ label, scores: [], problem: message }))
            )
          )
        )
      )
      const byLabel = new Map(rolled.map((one) => [one.label, one]))
      assert.deepStrictEqual(byLabel.get("What colour is the disc?")!.scores, [1, 0])
      assert.deepStrictEqual(byLabel.get("Which shape is green?")!.scores, [0, 1])
      assert.match(byLabel.get("What colour is the cut disc?")!.problem, /cut disc.*cannot read/)
    }).pipe(Effect.provide(VqaDataset.layer({ ...settings, testSource: parquet }).pipe(Layer.provide(services))))
  )

  it.effect("a column that is not there is named, with those that are", () =>
    Effect.gen(function* () {
      const error = yield* Effect.flip(
        Effect.provide(
          Environment.Environment,
          VqaDataset.layer({ ...settings, imageColumn: "photo" }).pipe(Layer.provide(services))
        )
      )
      assert.match(
        (error as Error).message,
        /unknown column "photo" \(image_column\); the columns are image, question, answers/
      )
    })
  )

  it("takes bytes as they are, in a struct, as base64 and as a data URL", () => {
    const bytes = readFileSync(parquet).subarray(0, 30)
    const base64 = bytes.toString("base64")
    for (const value of [
      Uint8Array.from(bytes),
      { bytes: Uint8Array.from(bytes), path: null },
      base64,
      `data:image/png;base64,${base64}`
    ]) {
      assert.deepStrictEqual(Uint8Array.from(Columns.bytes.read(value)!), Uint8Array.from(bytes))
    }
    for (const value of ["no base64!", "", 7, null, { path: "a.png" }]) assert.isUndefined(Columns.bytes.read(value))
  })
})

describe("scores of pictures", () => {
  for (const [name, layer] of [
    ["scenes", Scenes.layer()],
    ["ocr", Ocr.layer()]
  ] as const) {
    it.effect(`${name}: gold on top, any order, any text`, () =>
      Effect.gen(function* () {
        const environment = yield* Environment.Environment
        const claims = environment.claims
        if (claims._tag === "None" || !("items" in claims.value)) throw new Error("no claims to test")
        const { items, scoreRange } = claims.value
        yield* Stream.runForEach(Stream.take(items, 30), ({ gold, score, wrong }) =>
          Effect.gen(function* () {
            yield* Laws.goldOnTop(score, gold, wrong, scoreRange)
            const group = [...gold, ...wrong]
            yield* Laws.permutation(score, group, Array.from(group.keys()).toReversed())
          })
        )
      }).pipe(Effect.provide(layer.pipe(Layer.provide(ServerManager.layerScripted([""])))))
    )
  }
})
