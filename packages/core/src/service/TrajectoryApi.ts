/**
 * Defines the versioned endpoints of the trajectory service: paths, bodies, answers, errors, and the required role of
 * each. `api/` has a file per resource.
 *
 * Separate from its handlers (`@atropos/api`), so that environments and trainers can use a service without importing
 * it. Groups travel as raw bytes, decoded outside of any schema: `application/vnd.atropos.group` (`PackedGroup`) or the
 * original's JSON (`WireGroup`). Documented in docs/protocol.md.
 */
import { HttpApi, OpenApi } from "effect/http-api"
import { BatchesGroup } from "./api/Batches.ts"
import { CallerGroup } from "./api/Caller.ts"
import { ConsoleGroup } from "./api/Console.ts"
import { EnvironmentsGroup } from "./api/Environments.ts"
import { EvaluationReadingGroup, EvaluationsGroup } from "./api/Evaluations.ts"
import { GroupsGroup } from "./api/Groups.ts"
import { HealthGroup } from "./api/Health.ts"
import { MetricsGroup } from "./api/Metrics.ts"
import { NotesGroup } from "./api/Notes.ts"
import { ReadingGroup } from "./api/Reading.ts"
import { RunsGroup } from "./api/Runs.ts"
import * as OriginalPaths from "./api/OriginalPaths.ts"

export { Authorization, RequestErrors, Role, Roles } from "./api/Access.ts"
export { bounds, logprobsContentType, Name, packedContentType } from "./api/Fields.ts"
export * from "./api/Batches.ts"
export { Caller } from "./api/Caller.ts"
export { ConsoleOutput } from "./api/Console.ts"
export { Distribution, DistributionQuery } from "./api/Distributions.ts"
export * from "./api/Environments.ts"
export * from "./api/Evaluations.ts"
export * from "./api/GroupFigures.ts"
export * from "./api/Groups.ts"
export * from "./api/Health.ts"
export * from "./api/Metrics.ts"
export * from "./api/Notes.ts"
export * from "./api/Reading.ts"
export * from "./api/Rollouts.ts"
export * from "./api/RunSettings.ts"
export * from "./api/Runs.ts"

const title = { title: "Atropos trajectory service", version: "1.0.0" }

export class TrajectoryApi extends HttpApi.make("atropos")
  .add(
    HealthGroup,
    CallerGroup,
    ConsoleGroup,
    ReadingGroup,
    EvaluationReadingGroup,
    RunsGroup,
    EnvironmentsGroup,
    GroupsGroup,
    BatchesGroup,
    MetricsGroup,
    NotesGroup,
    EvaluationsGroup
  )
  .annotateMerge(
    OpenApi.annotations({
      ...title,
      description: "Runs, environments, scored groups in, training batches out. See docs/protocol.md of @atropos/core.",
      transform: (document) => ({ ...document, paths: { ...document["paths"], ...OriginalPaths.paths } })
    })
  ) {}

/** The endpoints that a viewer of stored rollouts needs. */
export class ReadingApi extends HttpApi.make("atropos")
  .add(ReadingGroup, EvaluationReadingGroup)
  .annotateMerge(
    OpenApi.annotations({ ...title, description: "Stored rollouts. See docs/protocol.md of @atropos/core." })
  ) {}
