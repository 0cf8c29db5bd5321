import { assert, describe, it, layer } from "@effect/vitest"
import { Dataset, Environment, Laws, SeededRandom, ServerManager, Tokenizer } from "@atropos/core"
import { Picture, Pointing } from "@atropos/envs"
import { Effect, Layer, Schema, Stream } from "effect"
import sharp from "sharp"
import * as Growth from "../../../core/test/base/Growth.ts"
import * as PointAnswer from "../../src/pictures/PointAnswer.ts"
import * as PointItems from "../../src/pictures/PointItems.ts"
import * as Regions from "../../src/pictures/Regions.ts"
import * as SceneItems from "../../src/pictures/SceneItems.ts"
import { claimed, claimsHold, heldOutLabels, labels, lawsHold } from "../TestItems.ts"

const image = await sharp({ create: { width: 200, height: 100, channels: 3, background: "#fff" } })
  .png()
  .toBuffer()
const cat = { image, label: "cat" }
const tables = {
  points: [
    {
      ...cat,
      points: [
        { x: 20, y: 50 },
        { x: 100, y: 50 }
      ],
      count: 2
    }
  ],
  none: [{ ...cat, points: { x: [], y: [] }, count: 0 }],
  boxes: [
    {
      ...cat,
      boxes: [
        [0, 0, 50, 50],
        [50, 50, 100, 100]
      ]
    }
  ],
  masks: [
    {
      ...cat,
      masks: JSON.stringify([
        [
          [0, 1],
          [0, 0]
        ],
        [
          [0, 0],
          [true, 1]
        ]
      ])
    }
  ],
  counts: [{ ...cat, count: 5 }],
  broken: [{ ...cat, image: image.subarray(0, 30), count: 1 }]
}

const environment = (settings: Parameters<typeof Pointing.layer>[0], script: ServerManager.Script = ["?"]) =>
  Pointing.layer({ groupSize: 2, seed: 3, ensureScoresAreNotSame: false, ...settings }).pipe(
    Layer.provide(ServerManager.layerScripted(script)),
    Layer.provide([Tokenizer.layerBytes, Dataset.layerMemory(tables)])
  )

layer(environment({}))("Pointing", (it) => {
  it.effect("gives the same items from any cursor on, and 200 to evaluate on", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual((yield* labels(0, 30)).slice(20), yield* labels(20, 10))
      assert.strictEqual((yield* heldOutLabels).length, 200)
    })
  )
  it.effect("holds for each of forty items what is claimed of it", () => claimsHold(40))
  it.effect.prop("scores follow the laws of scoring", [Laws.arbitraryGroup()], ([group]) => lawsHold(group), {
    arbitrary: { runs: 20 }
  })
})

describe("Pointing's rows", () => {
  for (const source of ["points", "none", "boxes", "masks", "counts"] as const) {
    it.effect(`with ${source} hold what is claimed of them`, () =>
      claimsHold(1).pipe(
        Effect.provide(
          environment({ source, testSource: source, ...(source === "boxes" && { units: "percent" as const }) })
        )
      )
    )
  }

  const first = (settings: Parameters<typeof Pointing.layer>[0], answers: ReadonlyArray<string>) =>
    Effect.gen(function* () {
      const { groups } = yield* Environment.Environment
      const [group] = yield* groups.pipe(Stream.take(1), Stream.runCollect)
      return group!
    }).pipe(Effect.provide(environment({ groupSize: answers.length, ...settings }, answers)))

  it.effect("are pointed at within a part of the longer side, each thing by a point of its own", () =>
    Effect.gen(function* () {
      const source = { source: "points", testSource: "points", kinds: ["point"] as const, seed: 1 }
      const group = yield* first(source, [
        '<points x1="10" y1="50" x2="50" y2="50">cats</points>',
        '<point x="14.9" y="50">cat</point> and <point x="50" y="59.9">cat</point>',
        '<point x="15.1" y="50">cat</point> and <point x="50" y="60.1">cat</point>',
        "<answer>[[10, 50], [10, 51], [50, 50]]</answer>",
        '<answer>{"points": [{"x": 10, "y": 50}]}</answer>',
        "<point>none</point>"
      ])
      assert.deepStrictEqual(Array.from(group.scores), [1, 1, 0, 4 / 5, 2 / 3, 0])
      assert.deepStrictEqual(group.rewards?.[3], { f1: 4 / 5, format: 1, precision: 2 / 3, recall: 1, count: 0 })
      assert.match(String((group.images as ReadonlyArray<string>)[0]), /^data:image\/png/)
    })
  )

  it.effect("are counted, where there is nothing but a count", () =>
    Effect.gen(function* () {
      const answers = [
        "<answer>5</answer>",
        "<answer>5 cats</answer>",
        "<answer>five</answer>",
        "<answer>5.5</answer>",
        "5"
      ]
      const group = yield* first({ source: "counts", testSource: "counts" }, answers)
      assert.deepStrictEqual(Array.from(group.scores), [1, 1, 0, 0, 0])
      assert.deepStrictEqual(group.rewards?.[2], { correct: 0, format: 0 })
    })
  )

  const refused: ReadonlyArray<readonly [string, object, RegExp]> = [
    ["odd points", { points: "here" }, /its points are neither a list of \{ x, y \} nor/],
    ["points that are no pairs", { points: { x: [1, 2], y: [1] } }, /its points have 2 x and 1 y/],
    ["a box that is turned round", { boxes: [[5, 0, 1, 1]] }, /its box \[5,0,1,1\] has its right before its left/],
    ["an empty mask", { masks: [[[0]]] }, /its mask 1 marks nothing/],
    ["half a thing", { count: 1.5 }, /its count is 1.5, and no whole number/],
    ["nothing", {}, /it has neither points, boxes, masks nor a count/]
  ]
  it.each(refused)("are refused with %s", (_, row, reason) => {
    const none = { points: null, boxes: null, masks: null, count: null }
    const made = PointItems.ofRow({ ...none, ...cat, ...row }, ["point", "count"], 0)
    assert.match(made._tag === "Failure" ? made.failure : "taken", reason)
  })

  it.effect("whose picture is broken are unscorable, and no item is lost by it", () =>
    Effect.gen(function* () {
      const { work } = yield* Environment.Environment
      const [only] = yield* work(0).pipe(Stream.take(1), Stream.runCollect)
      const error = yield* Effect.flip(only!.rollOut)
      assert.match(error.message, /cat: /)
      assert.strictEqual((yield* claimed(1)).length, 1)
    }).pipe(Effect.provide(environment({ source: "broken", testSource: "counts", kinds: ["count"] })))
  )
})

describe("PointAnswer.of", () => {
  const cases: ReadonlyArray<readonly [string, ReadonlyArray<readonly [number, number]> | undefined]> = [
    ['<point x="10.5" y="20" alt="a cat">cat</point>', [[10.5, 20]]],
    [
      'It is <point alt="x" x="1" y="2">here</point>, and <point x=\'3\' y = "4.">here</point>',
      [
        [1, 2],
        [3, 4]
      ]
    ],
    [
      '<points x1="1" y1="2" x2="3" y2="4" alt="two">',
      [
        [1, 2],
        [3, 4]
      ]
    ],
    ["<points></points>", []],
    ["<point>none</point>", []],
    ["<answer>[]</answer>", []],
    [
      '<answer>[{"x": 1, "y": 2}, {"x": 3, "y": 4}]</answer>',
      [
        [1, 2],
        [3, 4]
      ]
    ],
    ['<think><point x="9" y="9"></think><point x="1" y="2">', [[1, 2]]],
    ['<point x="1">', undefined],
    ['<points x1="1" y2="2">', undefined],
    ['<point x="1" x="2" y="3">', undefined],
    ['<point x="1" y="2"> <point>none</point>', undefined],
    ["<answer>[[1, 2, 3]]</answer>", undefined],
    ["<answer>(1, 2)</answer>", undefined],
    ["[[1, 2]]", undefined],
    ['<point x="1" y="2"> '.repeat(201), undefined],
    ['<point x="1', undefined],
    ["", undefined]
  ]
  it.each(cases)("reads %s", (text, expected) => {
    const read = PointAnswer.of(text)?.map(({ x, y }) => [x * 100, y * 100] as const)
    assert.strictEqual(read?.length, expected?.length)
    for (const [at, [x, y]] of (expected ?? []).entries()) {
      assert.closeTo(read![at]![0], x, 1e-9)
      assert.closeTo(read![at]![1], y, 1e-9)
    }
  })

  const Place = Schema.Struct({
    x: Schema.Natural.check(Schema.isLessThanOrEqualTo(100)),
    y: Schema.Natural.check(Schema.isLessThanOrEqualTo(100))
  })
  it.prop("reads what is written", [Schema.Array(Place).check(Schema.isMaxLength(20))], ([places]) => {
    const points = places.map(({ x, y }) => ({ x: x / 100, y: y / 100 }))
    assert.deepStrictEqual(
      PointAnswer.of(PointAnswer.written(points, "thing"))?.map(({ x, y }) => [
        Math.round(x * 100),
        Math.round(y * 100)
      ]),
      places.map(({ x, y }) => [x, y])
    )
  })

  it("is not stalled by what does not end", () => {
    for (const [before, part, after] of [
      ["", "<point ", ""],
      ["<point ", 'x="1" ', ">"],
      ["<point x=", " ", ">"]
    ] as const) {
      const read = (text: string) => PointAnswer.of(before + text + after)
      assert.isTrue(Growth.isLinearIn(200_000, part, read), before + part)
    }
  })
})

describe("Regions", () => {
  const size = { width: SceneItems.sidePixels, height: SceneItems.sidePixels }
  const seeds = Schema.Natural.check(Schema.isLessThanOrEqualTo(100_000))

  it.effect.prop(
    "say of a point what the picture shows there",
    [seeds],
    ([seed]) =>
      Effect.gen(function* () {
        const random = SeededRandom.seeded(seed, 0)
        const { things } = PointItems.draw(random, ["point"], 9)
        const { bytes } = yield* Picture.render(SceneItems.toSvg({ things }))
        const { data, info } = yield* Effect.promise(() =>
          sharp(bytes).removeAlpha().raw().toBuffer({ resolveWithObject: true })
        )
        const isPaper = (x: number, y: number) => {
          const at = (y * info.width + x) * info.channels
          return data[at] === 0xf4 && data[at + 1] === 0xf1 && data[at + 2] === 0xea
        }
        let differences = 0
        for (let y = 0; y < info.height; y += 3) {
          for (let x = 0; x < info.width; x += 3) {
            const point = { x: (x + 0.5) / info.width, y: (y + 0.5) / info.height }
            const isThing = things.some((thing) => Regions.holds(SceneItems.regionOf(thing), point, size))
            if (isThing === isPaper(x, y)) differences++
          }
        }
        // Pixels on an edge are both.
        assert.isBelow(differences / ((info.width * info.height) / 9), 0.02)
        for (const thing of things) {
          assert.isTrue(
            Regions.holds(SceneItems.regionOf(thing), Regions.someIn(SceneItems.regionOf(thing), size), size)
          )
        }
      }),
    { arbitrary: { runs: 4 } }
  )

  const Circle = Schema.Struct({ x: Schema.Literals([0, 10, 20, 30]), radius: Schema.Literals([1, 10, 15]) })
  it.prop(
    "are hit by as many points of their own as can be, in any order",
    [
      Schema.Array(Circle).check(Schema.isMaxLength(4)),
      Schema.Array(Schema.Literals([0, 5, 10, 25])).check(Schema.isMaxLength(4))
    ],
    ([circles, xs]) => {
      const regions = circles.map(({ radius, x }): Regions.Region => ({ kind: "circle", centre: { x, y: 0 }, radius }))
      const points = xs.map((x) => ({ x: x / 100, y: 0 }))
      const unit = { width: 100, height: 100 }
      /** Tries every pairing. */
      const best = (from: number, left: ReadonlyArray<Regions.Point>): number =>
        from === regions.length
          ? 0
          : Math.max(
              best(from + 1, left),
              ...left.map((point, at) =>
                Regions.holds(regions[from]!, point, unit) ? 1 + best(from + 1, left.toSpliced(at, 1)) : 0
              )
            )
      assert.strictEqual(Regions.hits(regions, points, unit), best(0, points))
      assert.strictEqual(Regions.hits(regions.toReversed(), points.toReversed(), unit), best(0, points))
    }
  )
})
