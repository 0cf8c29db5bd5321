import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import * as PageView from "../../viewer/src/chart/PageView.ts"
import * as Quantity from "../../viewer/src/ui/Quantity.ts"
import * as Scales from "../../viewer/src/chart/Scales.ts"
import * as Readout from "../../viewer/src/chart/Readout.ts"
import * as Shares from "../../viewer/src/service/Shares.ts"

const search = (parameters: { readonly [name: string]: string | number | null }) =>
  new URLSearchParams(
    Object.entries(parameters).flatMap(([name, value]) => (value === null ? [] : [[name, String(value)]]))
  )

describe("PageView", () => {
  const View = Schema.Struct({
    others: Schema.Array(Schema.String.check(Schema.isPattern(/^[\w.-]{1,12}$/))),
    axis: Schema.Literals(["step", "time"]),
    smoothing: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 99 })),
    isLogX: Schema.Boolean,
    isLogY: Schema.Boolean,
    range: Schema.NullOr(Schema.Int.check(Schema.isBetween({ minimum: -1000, maximum: 1000 })))
  })
  it.prop("comes back from the address as it went in", [View], ([{ range, smoothing, ...rest }]) => {
    const view: PageView.PageView = {
      ...rest,
      smoothing: smoothing / 100,
      range: range === null ? null : [range, range + 7.5]
    }
    assert.deepStrictEqual(PageView.read(search(PageView.write(view))), view)
  })

  it("takes what makes no sense as if it were not there", () => {
    const view = PageView.read(new URLSearchParams("x=sideways&smooth=7&from=9&to=3&log=z&with=,,b"))
    assert.deepStrictEqual(view, {
      others: ["b"],
      axis: "step",
      smoothing: PageView.greatestSmoothing,
      isLogX: false,
      isLogY: false,
      range: null
    })
  })
})

describe("quantity", () => {
  it("writes values with their units", () => {
    const written = [
      Quantity.quantity(0.1234, "share"),
      Quantity.quantity(0.035, "seconds"),
      Quantity.quantity(23_456, "perSecond"),
      Quantity.quantity(1.25e-9, "nats"),
      Quantity.duration(75),
      Quantity.duration(7260),
      Quantity.duration(3 * 86_400),
      Quantity.change(0.123),
      Quantity.change(-2),
      Quantity.change(0)
    ]
    assert.deepStrictEqual(written, [
      "12.3%",
      "35 ms",
      "23.5k/s",
      "1.25e-9",
      "1 min 15 s",
      "2 h 1 min",
      "3 days",
      "+0.12",
      "−2",
      "±0"
    ])
  })
})

const environment = (env_id: number, weight: number, connected: boolean) => ({ env_id, weight, connected })

describe("shares", () => {
  it("call an environment silent that has said nothing for minutes, and one that reports connected", () => {
    const now = 1_800_000_000_000
    const of = (connected: boolean, secondsSeen: number, secondsReported?: number) =>
      Shares.standingOf(
        {
          connected,
          last_seen: now - secondsSeen * 1000,
          report:
            secondsReported === undefined
              ? null
              : {
                  at: now - secondsReported * 1000,
                  running: 0,
                  unsent: 0,
                  items_per_minute: 0,
                  failures: 0,
                  last_error: null,
                  servers: []
                }
        },
        now
      ).standing
    assert.deepStrictEqual(
      [of(true, 3), of(true, 300), of(true, 300, 4), of(true, 300, 200), of(false, 3, 3)],
      ["connected", "silent", "connected", "silent", "gone"]
    )
  })

  it("know the present of an environment only while it is there", () => {
    const now = 1_800_000_000_000
    const report = { at: now, running: 2, unsent: 0, items_per_minute: 7, failures: 0, last_error: null, servers: [] }
    const of = (connected: boolean, at: number) =>
      Shares.presentReport({ connected, last_seen: at, report: { ...report, at } }, now)?.items_per_minute ?? null
    assert.deepStrictEqual([of(true, now), of(false, now), of(true, now - 600_000)], [7, null, null])
  })

  it("divides the batches among those that are connected, by weight", () => {
    const all = [environment(0, 2, true), environment(1, 1, true), environment(2, 5, false)]
    assert.deepStrictEqual(
      all.map((environment) => Shares.dueShare(environment, all)),
      [2 / 3, 1 / 3, null]
    )
    assert.isNull(Shares.dueShare(environment(0, 0, true), [environment(0, 0, true)]))
  })

  it("tells a lease that ran out from one that lasts", () => {
    const batches = [
      { state: "leased", lease_until: 99 },
      { state: "leased", lease_until: 101 },
      { state: "acked", lease_until: 50 },
      { state: "free", lease_until: null }
    ] as const
    assert.deepStrictEqual(
      [...Shares.countStates(batches, 100)],
      [
        ["expired", 1],
        ["leased", 1],
        ["acked", 1],
        ["free", 1]
      ]
    )
  })
})

describe("the state of an environment", () => {
  it("is a fault if it is gone, except once the run has ended", () => {
    assert.deepStrictEqual(
      (["connected", "silent", "gone"] as const).map((standing) => [
        Shares.kindOf(standing, false),
        Shares.kindOf(standing, true)
      ]),
      [
        ["good", "good"],
        ["bad", "bad"],
        ["bad", "idle"]
      ]
    )
  })
})

const line = (...xs: ReadonlyArray<number>) => ({
  line: { xs: Float64Array.from(xs), ys: new Float64Array(xs.length) }
})

describe("last values", () => {
  it("have their step where other curves of the chart are longer", () => {
    const [rolled, trained, none] = [line(1, 30), line(1, 29), line()]
    const curves = [rolled, trained, none]
    assert.deepStrictEqual(
      curves.map((curve) => Readout.lagOf(curve, curves)),
      ["", " at step 29", ""]
    )
  })
})

describe("scales", () => {
  const value = Schema.Finite.check(Schema.isBetween({ minimum: -1e9, maximum: 1e9 }))
  it.prop(
    "hold all values, have a length, and end at zero where no value is beyond",
    [value, value],
    ([one, other]) => {
      const [min, max] = [Math.min(one, other), Math.max(one, other)]
      const [low, high] = Scales.rangeOfY(min, max)
      assert.isTrue(low <= min && high >= max && low < high)
      assert.isTrue(min < 0 || low >= 0)
      assert.isTrue(max > 0 || high <= 0 || (min === 0 && max === 0))
      assert.isAtMost(Scales.rangeOfY(Math.min(min, 1), Math.min(max, 1), "share")[1], 1)
      assert.isAtLeast(high - low, 0.099 * Math.max(Math.abs(min), Math.abs(max)))
    }
  )

  it("label ticks in units that fit", () => {
    assert.deepStrictEqual(Scales.ticksX([0, 5000, 10_000], "step"), ["0", "5000", "10k"])
    assert.deepStrictEqual(Scales.ticksX([0, 5400, 10_800], "time"), ["0 h", "1.5 h", "3 h"])
    assert.deepStrictEqual(Scales.ticksX([0, 90, 180], "time"), ["0 min", "1.5 min", "3 min"])
    assert.deepStrictEqual(Scales.ticksY([0, 0.1 + 0.2, null], "number"), ["0", "0.3", ""])
    assert.deepStrictEqual(Scales.ticksY([-0.002, 0.0005], "nats"), ["-2e-3", "5e-4"])
    assert.deepStrictEqual(Scales.ticksY([0, 0.25], "share"), ["0%", "25%"])
  })
})
