/** How a run stands is judged by what moved last and by who was heard of, whatever its pace. */
import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import * as Health from "../../src/health/Health.ts"

const { Activity } = Health

const now = 1_000_000_000
const second = 1000

const letters: Health.Activity.EnvironmentSigns = {
  name: "letters_0",
  connected: true,
  heardAt: now - 4 * second,
  hasReport: true,
  running: 0,
  lastError: null,
  isWithoutServers: false
}

/** A run of 400 that took step 41 some seconds ago, one a second before, with its trainer and environment there. */
const signs = (idle: number, more: Partial<Health.Activity.Signs> = {}): Health.Activity.Signs => ({
  ended: false,
  startedAt: now - idle * second - 100 * second,
  totalSteps: 400,
  step: 41,
  stepTimes: Array.from({ length: 40 }, (_, index) => now - (idle + index) * second),
  recordedAt: now - idle * second,
  groupAt: now - idle * second,
  trainerSeenAt: now - 3 * second,
  lease: null,
  environments: [letters],
  ...more
})

const stateOf = (idle: number, more: Partial<Health.Activity.Signs> = {}) => Activity.of(signs(idle, more), now)

const gone = {
  trainerSeenAt: now - 7200 * second,
  environments: [{ ...letters, heardAt: now - 7200 * second }]
}

const found = (activity: Health.Activity.Activity | undefined) =>
  Health.judge({ ...Health.recorder().recorded, activity: () => activity }).map(({ rule, message: says }) => [
    rule,
    says
  ])

describe("Activity", () => {
  it("calls a run running while it moves at its pace, and stalled when it has not for long", () => {
    assert.strictEqual(stateOf(5).state, "running")
    assert.strictEqual(stateOf(50).state, "running")
    const stalled = stateOf(180)
    assert.strictEqual(stalled.state, "stalled")
    assert.closeTo(stalled.idleSeconds, 180, 1e-9)
    // Steps of two minutes each.
    const slow = Array.from({ length: 10 }, (_, index) => now - (600 + 120 * index) * second)
    assert.strictEqual(stateOf(600, { stepTimes: slow }).state, "running")
    assert.strictEqual(stateOf(1300, { stepTimes: slow.map((time) => time - 700 * second) }).state, "stalled")
  })

  it("says what a stalled run waits for: the first thing that is missing", () => {
    const because = (more: Partial<Health.Activity.Signs>) => stateOf(180, more).reason
    assert.strictEqual(because({ trainerSeenAt: now - 180 * second }), "no trainer has asked for a batch for 3 min")
    assert.strictEqual(because({ environments: [] }), "no environment is connected")
    assert.strictEqual(because({ environments: [{ ...letters, connected: false }] }), "no environment is connected")
    assert.strictEqual(
      because({ environments: [{ ...letters, heardAt: now - 150 * second }] }),
      "letters_0: not heard from for 2 min 30 s"
    )
    const lastError = { at: now - 9 * second, message: "cjhb: the grader refused the connection" }
    const failing = stateOf(180, { environments: [{ ...letters, lastError }] })
    assert.deepStrictEqual(
      [failing.reason, failing.environment],
      ["letters_0: cjhb: the grader refused the connection", "letters_0"]
    )
    assert.deepStrictEqual(failing.errors, [{ environment: "letters_0", message: lastError.message }])
    // An old error is not a reason.
    assert.notInclude(because({ environments: [{ ...letters, lastError: { ...lastError, at: 0 } }] }), "grader")
    assert.strictEqual(
      because({ environments: [{ ...letters, isWithoutServers: true }] }),
      "letters_0: no inference server responds"
    )
    assert.include(because({ environments: [{ ...letters, running: 64 }] }), "64 items in progress")
  })

  it("waits longer for a trainer that is at a batch, and for the first step", () => {
    const lease = { step: 42, until: now + 40 * second }
    assert.strictEqual(stateOf(180, { lease }).state, "running")
    assert.strictEqual(stateOf(900, { lease }).reason, "the trainer has held the batch of step 42 for 15 min")
    // A batch that it has learned from, and that no checkpoint holds yet.
    assert.strictEqual(stateOf(180, { lease: { ...lease, step: 41 } }).state, "stalled")
    const none = { step: null, stepTimes: [], recordedAt: null, groupAt: null }
    assert.strictEqual(stateOf(0, { ...none, startedAt: now - 300 * second }).state, "starting")
    assert.strictEqual(stateOf(0, { ...none, startedAt: now - 900 * second }).state, "stalled")
    const lastError = { at: now - 9 * second, message: "no such file" }
    const failing = { ...none, startedAt: now - 100 * second, environments: [{ ...letters, lastError }] }
    assert.deepStrictEqual(
      [stateOf(0, failing).state, stateOf(0, failing).reason],
      ["stalled", "letters_0: no such file"]
    )
  })

  it("is starting again where a run is resumed, however old its last step", () => {
    assert.strictEqual(stateOf(7200, { startedAt: now - 20 * second }).state, "starting")
  })

  it("is running, not starting, while it takes steps on a clock that was set back before its start", () => {
    const startedAt = now + 3600 * second
    assert.strictEqual(stateOf(5, { startedAt }).state, "running")
    assert.strictEqual(stateOf(5, { startedAt, step: null, stepTimes: [] }).state, "starting")
  })

  it("tells a run that was stopped from one that was killed, and both from one that is done", () => {
    const left = { ...gone, environments: [{ ...gone.environments[0]!, connected: false }] }
    assert.deepInclude(stateOf(7200, left), { state: "stopped", reason: null })
    const killed = stateOf(7200, gone)
    assert.strictEqual(killed.state, "stopped")
    assert.include(killed.reason, "without deregistering after step 41 of 400: killed")
    assert.include(stateOf(7200, { ...left, lease: { step: 42, until: now - 7140 * second } }).reason, "killed")
    assert.deepInclude(stateOf(7200, { ...gone, step: 400 }), { state: "done", reason: null })
    assert.strictEqual(stateOf(7200, { ...left, ended: true }).state, "stopped")
    // Whoever ended by an error has it as the reason.
    const lastError = { at: now - 7201 * second, message: "12 items in a row failed" }
    const failed = stateOf(7200, { ...gone, environments: [{ ...letters, connected: false, lastError }] })
    assert.strictEqual(failed.reason, "letters_0: 12 items in a row failed")
  })

  it("knows the end of a run of a trainer of another make by its batches, and no end where none is known", () => {
    assert.strictEqual(stateOf(7200, { ...gone, totalSteps: -1 }).state, "stopped")
  })

  it.prop(
    "never calls a run running after a day without a sign",
    [Schema.Boolean, Schema.Boolean],
    ([hasStep, hasLease]) => {
      const day = 86_400
      const { state } = stateOf(day, {
        ...gone,
        trainerSeenAt: hasStep ? now - day * second : null,
        ...(!hasStep && { step: null, stepTimes: [], startedAt: now - 2 * day * second }),
        lease: hasLease ? { step: 42, until: now - day * second } : null,
        environments: [{ ...letters, heardAt: now - day * second }]
      })
      assert.strictEqual(state, "stopped")
    }
  )

  it("names an environment that others continue without, unless it deregistered or was started again", () => {
    const numbers = { ...letters, name: "numbers_1", heardAt: now - 90 * second }
    const lost = stateOf(5, { environments: [letters, numbers] })
    assert.strictEqual(lost.state, "running")
    assert.deepStrictEqual(found(lost), [
      ["lost", "numbers_1: not heard from for 1 min 30 s; others continue without it."]
    ])
    for (const other of [
      { ...numbers, connected: false },
      { ...numbers, heardAt: now - 50 * second },
      // The original's are silent during long rollouts.
      { ...numbers, hasReport: false }
    ]) {
      assert.deepStrictEqual(found(stateOf(5, { environments: [letters, other] })), [])
    }
    const again = { ...numbers, name: "numbers_2", heardAt: now }
    assert.deepStrictEqual(found(stateOf(5, { environments: [letters, numbers, again] })), [])
  })

  it("is told by a rule of health, and only where something is wrong", () => {
    assert.deepStrictEqual(found(undefined), [])
    assert.deepStrictEqual(found(stateOf(5)), [])
    assert.deepStrictEqual(found(stateOf(7200, { ...gone, step: 400 })), [])
    assert.deepStrictEqual(found(stateOf(180, { environments: [] })), [
      ["stalled", "No progress for 3 min: no environment is connected."]
    ])
    const [[, killed] = []] = found(stateOf(7200, gone))
    assert.match(killed!, /^Stopped 2 h ago: its processes ended without deregistering/)
  })
})
