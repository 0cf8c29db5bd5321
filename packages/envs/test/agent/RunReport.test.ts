/** Which sequence of a run made the calls of tools that its agent reported. */
import { assert, describe, it } from "@effect/vitest"
import { Message, type Timings, type Trajectory } from "@atropos/core"
import type * as Outcome from "../../src/agent/Outcome.ts"
import * as RunReport from "../../src/agent/RunReport.ts"

/** A sequence with an answer at each of these times. */
const sequence = (...answers: ReadonlyArray<number>): Trajectory.Trajectory => ({
  messages: answers.flatMap((time) => [Message.user("Go on."), Message.assistant(String(time))]),
  completion: "",
  finishReason: "stop",
  tokens: new Int32Array(),
  mask: new Uint8Array(),
  turns: answers.map((answered) => ({ asked: answered - 1, sent: answered - 1, answered }))
})

const call = (from: number): Timings.Call => ({
  from,
  to: from + 1,
  title: "",
  kind: "read",
  status: "completed",
  text: ""
})

/** The times of calls that each sequence has. */
const owners = (trajectories: ReadonlyArray<Trajectory.Trajectory>, calls: ReadonlyArray<number>) => {
  const recorded: Outcome.Recorded = { trajectories, bySession: [trajectories], messages: [], reported: undefined }
  const outcome = RunReport.withCalls(recorded, { calls: calls.map(call), stopReasons: [] })
  assert.deepStrictEqual(outcome.bySession, [outcome.trajectories])
  return outcome.trajectories.map(({ calls }) => calls?.map(({ from }) => from))
}

describe("RunReport", () => {
  it("gives a call to the sequence that had the last answer before it", () => {
    assert.deepStrictEqual(owners([sequence(10, 20), sequence(30, 40)], [41, 21, 10, 35]), [
      [10, 21],
      [35, 41]
    ])
  })

  it("gives it to the main sequence where several had that answer, or none", () => {
    assert.deepStrictEqual(owners([sequence(10, 20), sequence(10, 30, 40)], [5, 15]), [undefined, [5, 15]])
  })

  it("leaves a run without sequences as it was", () => {
    assert.deepStrictEqual(owners([], [1]), [])
  })
})
