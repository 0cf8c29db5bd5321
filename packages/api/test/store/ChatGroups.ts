/** Groups with chats, and queries for them. */
import { PackedGroup, type ScoredGroup } from "@atropos/core"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { randomUUID } from "node:crypto"
import * as RolloutText from "../../src/rollout/RolloutText.ts"
import * as RolloutReader from "../../src/store/RolloutReader.ts"
import type * as TrajectoryStore from "../../src/store/TrajectoryStore.ts"
import * as SampleGroups from "../SampleGroups.ts"

/** A group in which every rollout has the prompt `question` and one of `answers`. */
export const chats = (question: string, ...answers: ReadonlyArray<string>): ScoredGroup.ScoredGroup => ({
  ...SampleGroups.plain(answers.length),
  messages: answers.map((content) => [
    { role: "user", content: question },
    { role: "assistant", content }
  ])
})

export const chatSubmission = (
  group: ScoredGroup.ScoredGroup,
  more: Partial<TrajectoryStore.Submission> = {}
): TrajectoryStore.Submission => ({
  key: randomUUID(),
  sequences: group.tokens.length,
  tokens: 10,
  scores: Array.from(group.scores),
  envId: null,
  policyStep: null,
  payload: { format: "packed", bytes: PackedGroup.encode(group) },
  ...more
})

export const search = (run: string, text: string, more: Partial<RolloutReader.RolloutFilter> = {}) =>
  Effect.flatMap(RolloutReader.RolloutReader, (reader) =>
    reader.rollouts(run, { limit: 100, text: RolloutText.parse(text)!, ...more })
  )

/** Advances the clock until all text is indexed. */
export const indexed = (run: string) =>
  Effect.flatMap(RolloutReader.RolloutReader, (reader) =>
    TestClock.adjust("1 second").pipe(
      Effect.andThen(reader.rollouts(run, { limit: 1 })),
      Effect.repeat({ until: ({ unindexed }) => unindexed === 0 })
    )
  )
