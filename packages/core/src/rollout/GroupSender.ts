/**
 * Handles an item's groups: those that pass the filters are counted, shown, keyed, sent and saved; the others are
 * reported.
 */
import { Effect, Option, Result } from "effect"
import type { RolledOut, Unscorable } from "../Environment.ts"
import type { Common } from "../definition/EnvironmentSettings.ts"
import type { ScoredGroup } from "../trajectory/ScoredGroup.ts"
import type { ServerManagerShape } from "../inference/ServerManager.ts"
import type { TokenizerShape } from "../inference/tokenizer/Tokenizer.ts"
import * as TokenizerIdentity from "../inference/tokenizer/TokenizerIdentity.ts"
import type { Connection } from "./submit/Connection.ts"
import { groupKey } from "./submit/Delivery.ts"
import * as GroupFilter from "./submit/GroupFilter.ts"
import type { Progress } from "./state/Progress.ts"
import type { RolloutMetrics } from "./RolloutMetrics.ts"
import type { RolloutTable } from "./RolloutTable.ts"
import type { GroupFile } from "./submit/GroupFile.ts"
import type { Submitter } from "./submit/Submitter.ts"
import type { SubmitSpans } from "./submit/SubmitSpans.ts"
import type { Viewers } from "./submit/Viewers.ts"
import type { Task } from "./pool/Task.ts"

export interface GroupSender {
  /** Sends a rolled-out item's groups; the item is finished once the service has answered for them. */
  readonly send: (task: Task, rolledOut: RolledOut) => Effect.Effect<void>
  /** A group, or all of an item's, cannot be judged. */
  readonly skip: (item: string, error: Unscorable) => Effect.Effect<void>
}

export interface Options {
  readonly settings: Common
  readonly connection: Pick<Connection, "maxTokenLength">
  readonly tokenizer: Option.Option<TokenizerShape>
  readonly servers: Pick<ServerManagerShape, "tokenizer">
  readonly progress: Pick<Progress, "end" | "lineage" | "send">
  readonly submitter: Pick<Submitter, "offer">
  readonly viewers: Pick<Viewers, "noted" | "wantChats">
  readonly spans: Pick<SubmitSpans, "begin">
  readonly metrics: RolloutMetrics
  readonly table: Pick<RolloutTable, "add">
  readonly groupFile: GroupFile | undefined
  readonly step: () => number
}

/** 100, 1,000, 10,000, …: rare enough to log, and early enough for a user waiting for a first batch. */
const isPowerOfTen = (count: number): boolean => /^100+$/.test(String(count))

export const make = (options: Options): GroupSender => {
  const { metrics, progress, groupFile, settings, spans, submitter, table, tokenizer } = options

  const filterOptions = (): GroupFilter.FilterOptions => ({
    groupSize: settings.groupSize,
    ensureScoresAreNotSame: settings.ensureScoresAreNotSame,
    minTrainedTokens: settings.minTrainedTokens,
    includeMessages: settings.includeMessages,
    keepMessages: options.viewers.wantChats,
    maxTokenLength: options.connection.maxTokenLength(),
    ...(Option.isSome(tokenizer) && { decode: (tokens: Int32Array) => tokenizer.value.decode(tokens) }),
    tokenizer: options.servers.tokenizer && TokenizerIdentity.of(options.servers.tokenizer)
  })

  /** Groups dropped since the last one kept. */
  let inARow = 0
  const droppedFor = new Set<GroupFilter.DropReason>()
  // The first drop for each reason is logged, so that an environment whose groups are all dropped reports why.
  const drop = (item: string, reason: GroupFilter.DropReason): Effect.Effect<void> => {
    metrics.dropped(reason)
    const because = GroupFilter.reasons[reason]
    const log = droppedFor.has(reason) ? Effect.logDebug : Effect.logWarning
    droppedFor.add(reason)
    inARow += 1
    return Effect.andThen(
      log("group dropped", { item, reason, because }),
      isPowerOfTen(inARow)
        ? Effect.andThen(
            Effect.logWarning("all groups are dropped; nothing is sent", {
              inARow,
              last: { item, reason, because }
            }),
            options.viewers.noted(`the last ${inARow} groups were all dropped, the last one as ${reason}: ${because}`)
          )
        : Effect.void
    )
  }
  const skip: GroupSender["skip"] = (item, error) => {
    metrics.dropped("unscorable")
    return Effect.logWarning("group skipped", { item, reason: error.message })
  }

  const send = Effect.fnUntraced(function* (task: Task, { groups, unscorable }: RolledOut) {
    const { index, path, work } = task
    for (const error of unscorable) yield* skip(work.label, error)
    const limits = filterOptions()
    const accepted: Array<ScoredGroup> = []
    for (const [position, group] of groups.entries()) {
      metrics.rolledOut(group, limits)
      const verdict = GroupFilter.filter(group, limits)
      if (Result.isFailure(verdict)) {
        yield* drop(work.label, verdict.failure)
        continue
      }
      inARow = 0
      metrics.kept(verdict.success, options.step())
      table.add(group)
      accepted.push(verdict.success)
      const key = groupKey(progress.lineage, path, position)
      progress.send(task, key, verdict.success.tokens.length)
      submitter.offer({ index, key, group: yield* spans.begin(key, verdict.success) })
    }
    progress.end(task)
    if (groupFile === undefined) return
    yield* groupFile
      .write(accepted)
      .pipe(
        Effect.catch((error) =>
          Effect.logError("groups could not be saved", { reason: error.message, groups: accepted.length })
        )
      )
  })
  return { send, skip }
}
