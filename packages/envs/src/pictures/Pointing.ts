/**
 * Asks to point and to count in pictures: the position of every thing of a name, or their number.
 *
 * `Point at every red circle` is answered by points in percent of width and height (`PointAnswer`). A point hits a
 * thing in its outline, mask or box, or within `tolerance` of its position; things and points are paired one to one for
 * the most hits. Score: F1 of hits (components `precision`, `recall`, `f1`, and `count`: as many points as things).
 * `How many red circles are there?` is answered by a number in the `<answer>` tag: 1 if right, else 0 (component
 * `correct`). Pictures are generated, or rows in the layouts of PixMo (Deitke et al. 2024, arXiv:2409.17146).
 * Behaviour: pixmo_count.py of the original; its pixmo_point_explanations.py compares texts instead of points.
 */
import { Columns, Environment, ServerManager, SeededRandom, type Trajectory } from "@atropos/core"
import * as ItemSource from "../kit/ItemSource.ts"
import * as Picture from "../kit/Picture.ts"
import * as PictureQuestion from "../kit/PictureQuestion.ts"
import * as SingleTurn from "../kit/SingleTurn.ts"
import * as Thinking from "../kit/Thinking.ts"
import { Effect, Schema, Stream } from "effect"
import * as PointAnswer from "./PointAnswer.ts"
import * as PointItems from "./PointItems.ts"
import * as Regions from "./Regions.ts"
import * as SceneItems from "./SceneItems.ts"

const positive = Schema.Int.check(Schema.isGreaterThan(0))
const column = (name: string, what: string) => Environment.field(Schema.NonEmptyString, name, `column of ${what}`)

export const settings = Environment.settings({
  ...SingleTurn.fields,
  ...ItemSource.fields("allenai/pixmo-points/train, with its pictures fetched,"),
  kinds: Environment.field(
    Schema.NonEmptyArray(Schema.Literals(["point", "count"])),
    ["point", "count"],
    "what to ask: point, count"
  ),
  mostThings: Environment.field(
    Schema.Int.check(Schema.isBetween({ minimum: 3, maximum: 16 })),
    9,
    "maximum number of objects in a generated picture; the minimum is three"
  ),
  imageColumn: column("image", "the picture"),
  labelColumn: column("label", "the name of the things"),
  pointsColumn: column("points", "their places, { x, y }, if there is one"),
  boxesColumn: column("boxes", "their boxes, [left, top, right, bottom], if there is one"),
  masksColumn: column("masks", "their masks, rows of 0 and 1, if there is one"),
  countColumn: column("count", "their number, if there is one"),
  units: Environment.field(
    Schema.Literals(["pixels", "percent", "fraction"]),
    "pixels",
    "units of the rows' points and boxes: pixels, or percent or fraction of width and height"
  ),
  tolerance: Environment.field(
    Schema.Finite.check(Schema.isBetween({ minimum: 0, maximum: 100 })),
    5,
    "how far from the place of a row's thing a point may be, in percent of the picture's longer side"
  ),
  maxImageBytes: Environment.field(positive, Picture.defaultLimits.maxBytes, "maximum size of a picture, in bytes"),
  maxImagePixels: Environment.field(positive, Picture.defaultLimits.maxPixels, "maximum number of pixels in a picture")
})

type Item = PointItems.Item

const instructions = {
  point: `You point at things in a picture. Give a point for each of them, in percent of the picture's width and height from the top left, like this: \
<point x="12.5" y="60.2">name</point>. If there is none, write <point>none</point>.`,
  count:
    "You count things in a picture. Give their number like this: <answer>3</answer>. If there is none, it is <answer>0</answer>."
} as const

const nothing = { f1: 0, format: 0, precision: 0, recall: 0, count: 0 }

export const pointed = (
  regions: ReadonlyArray<Regions.Region>,
  points: ReadonlyArray<Regions.Point> | undefined,
  size: Regions.Size
) => {
  if (points === undefined) return nothing
  const [expected, found] = [regions.length, points.length]
  const count = expected === found ? 1 : 0
  if (expected + found === 0) return { f1: 1, format: 1, precision: 1, recall: 1, count }
  const hits = Regions.hits(regions, points, size)
  return {
    f1: (2 * hits) / (expected + found),
    format: 1,
    precision: found === 0 ? 0 : hits / found,
    recall: expected === 0 ? 0 : hits / expected,
    count
  }
}

/** Components of a counting answer: `3`, `3.` or `3 circles` for three. */
export const counted = (expected: number, completion: string) => {
  const reply = Thinking.taggedAnswer(completion)
  const number = /^\s{0,9}(\d{1,9})\b(?![.,]\d)/.exec(reply ?? "")?.[1]
  return { correct: number !== undefined && Number(number) === expected ? 1 : 0, format: number === undefined ? 0 : 1 }
}

const optional = (setting: string, name: string) => ({
  setting,
  column: name,
  kind: Columns.optional(Columns.anything)
})

const itemsOf = (selected: Parameters<typeof settings.encode>[0]) =>
  selected.source === ItemSource.generated
    ? Effect.succeed(
        ItemSource.drawn<Item>({
          ...selected,
          draw: (random) => PointItems.draw(random, selected.kinds, selected.mostThings),
          key: (item) => (item._tag === "Drawn" ? SceneItems.toSvg(item) + PointItems.question(item) : "")
        })
      )
    : ItemSource.shuffledRowsAs(
        {
          ...selected,
          columns: {
            image: { setting: "image_column", column: selected.imageColumn, kind: Columns.bytes },
            label: { setting: "label_column", column: selected.labelColumn, kind: Columns.text },
            points: optional("points_column", selected.pointsColumn),
            boxes: optional("boxes_column", selected.boxesColumn),
            masks: optional("masks_column", selected.masksColumn),
            count: optional("count_column", selected.countColumn)
          } as const
        },
        (row) => PointItems.ofRow(row, selected.kinds, SeededRandom.hashOf(`${row.label} ${row.image.length}`) >>> 0)
      )

const tagged = (count: number): string => `<answer>${count}</answer>`

const claimsOf = (places: Parameters<typeof PointItems.regionsOf>[2]) => {
  /** A point for each thing; none for a rejected picture, whose answers are not scored. */
  const pointsOf = (item: Item): ReadonlyArray<Regions.Point> => {
    const size = PointItems.sizeOf(item)
    return size === undefined
      ? []
      : PointItems.regionsOf(item, size, places).map((region) => Regions.someIn(region, size))
  }
  return {
    scoreRange: [0, 1] as const,
    gold: (item: Item) => {
      const count = PointItems.countOf(item)
      if (item.kind === "count") return [tagged(count), `<think>${tagged(99)}</think>I see ${tagged(count)}.`]
      const points = pointsOf(item)
      const percent = points.map(({ x, y }) => ({ x: x * 100, y: y * 100 }))
      const attributes = percent.map(({ x, y }, at) => `x${at + 1}="${x.toFixed(4)}" y${at + 1}="${y.toFixed(4)}"`)
      return [
        PointAnswer.written(points, item.label),
        `<think>Where?</think><answer>${JSON.stringify(percent.toReversed())}</answer>`,
        `<points ${attributes.join(" ")}>${item.label}</points>`
      ]
    },
    wrong: (item: Item) => {
      const count = PointItems.countOf(item)
      if (item.kind === "count") {
        return [String(count), tagged(count + 1), `<answer>${count}.5</answer>`, `<think>${tagged(count)}</think>`]
      }
      const points = pointsOf(item)
      return [
        "There.",
        PointAnswer.written([...points, { x: 2, y: 2 }], item.label),
        ...(points.length === 0 ? [] : [PointAnswer.written(points.slice(1), item.label)]),
        `<think>${PointAnswer.written(points, item.label)}</think>`
      ]
    }
  }
}

export const layer = Environment.layer("pointing", settings, (selected) =>
  Effect.gen(function* () {
    const servers = yield* ServerManager.ServerManager
    const limits = { maxBytes: selected.maxImageBytes, maxPixels: selected.maxImagePixels }
    const source = yield* itemsOf(selected)
    const pictureOf = (item: Item) =>
      item._tag === "Drawn" ? Picture.render(SceneItems.toSvg(item)) : Picture.check(item.label, item.image, limits)
    /** Adds the size of the picture. A rejected picture has none; it is rejected again when rolled out. */
    const measured = (item: Item): Effect.Effect<Item> =>
      item._tag === "Drawn"
        ? Effect.succeed(item)
        : Picture.check(item.label, item.image, limits).pipe(
            Effect.map(({ height, width }): Item => ({ ...item, size: { height, width } })),
            Effect.orElseSucceed(() => item)
          )
    const asking = PictureQuestion.make(servers, selected, (item: Item) =>
      Effect.map(pictureOf(item), (picture) => ({
        picture,
        question: PointItems.question(item),
        instructions: instructions[item.kind]
      }))
    )
    return {
      items: (cursor: number) => Stream.mapEffect(source.items(cursor), measured),
      collectTrajectories: (item: Item) =>
        Effect.mapError(asking.train(item), (error) =>
          error._tag === "PictureRefused" ? new Environment.Unscorable({ message: error.message }) : error
        ),
      score: (item: Item, group: ReadonlyArray<Trajectory.Trajectory>) => {
        if (item.kind === "count") {
          const count = PointItems.countOf(item)
          return Effect.succeed(group.map(({ completion }) => ({ rewards: counted(count, completion) })))
        }
        const size = PointItems.sizeOf(item)
        if (size === undefined) return Effect.fail(new Environment.Unscorable({ message: "its picture is refused" }))
        const regions = PointItems.regionsOf(item, size, selected)
        return Effect.succeed(
          group.map(({ completion }) => ({ rewards: pointed(regions, PointAnswer.of(completion), size) }))
        )
      },
      components: { weights: { f1: 1, correct: 1, format: 0, precision: 0, recall: 0, count: 0 } },
      evaluation: {
        items: source.heldOut.pipe(
          Stream.mapEffect(measured),
          Stream.filterEffect((item) =>
            PointItems.sizeOf(item) !== undefined
              ? Effect.succeed(true)
              : pictureOf(item).pipe(
                  Effect.as(true),
                  Effect.catch(({ message }) => Effect.as(Effect.logWarning("row skipped", { reason: message }), false))
                )
          )
        ),
        collectTrajectories: asking.evaluate
      },
      label: (item: Item) => `${PointItems.question(item)} (${PointItems.countOf(item)})`,
      claims: claimsOf(selected)
    }
  })
)
