/**
 * Converts a session's token tree to sequences for a trainer.
 *
 * Every path from a root to a leaf answer is one sequence. Each sampled token is trained exactly once: if paths share a
 * prefix, the sequence with the lowest number trains it, and the others mask it, without logprobs. A path whose answers
 * were sampled differently (another temperature) trains those that were sampled like its last one; each other kind
 * becomes a separate sequence that ends at the last of its kind, numbered after all paths. Excluded, with their reason,
 * are
 *
 *     abandoned   an answer without a continuation, if the same prompt was sent again later and that answer was
 *                 continued: the client discarded the first. Choices of one request are kept.
 *     untrained   none of the answers that it alone has is trained (`ChatRequest.isTrained`); a path with some ends at
 *                 the last of them
 *     altered     the ids are not those that were sent and sampled
 *     unsound     ids, mask and logprobs are inconsistent (a server sent fewer logprobs than tokens)
 *
 * Sharing is computed over the sequences that are kept, so an excluded path masks nothing in others.
 */
import type { RecordedSequence, Recording, TrainedTurn } from "../wire/Inference.ts"
import type { Message } from "../../trajectory/Message.ts"
import * as Alignment from "../session/Alignment.ts"
import * as Sampling from "../../trajectory/Sampling.ts"
import * as RoutedPath from "../session/RoutedPath.ts"
import { chatOf } from "../session/SessionTree.ts"
import * as Recordings from "./Recordings.ts"
import * as TokenText from "./TokenText.ts"
import * as TokenTree from "./TokenTree.ts"
import type { TokenizerShape } from "../tokenizer/Tokenizer.ts"
import * as VersionRuns from "../../trajectory/VersionRuns.ts"
import { notSampled } from "../../trajectory/Trajectory.ts"

type Links = ReturnType<typeof TokenTree.links>

/** The position up to which each answer is already trained. */
type Trained = Map<TokenTree.TokenAnswer, number>

/** `areSelected`: as of `Recordings.ofPaths`. */
export const recording = (
  tokenizer: TokenizerShape,
  tips: ReadonlyArray<TokenTree.TokenAnswer>,
  areSelected?: boolean
): Recording => {
  const trained: Trained = new Map()
  const sequencesOf = (tip: TokenTree.TokenAnswer) => {
    const links = TokenTree.links(tip)
    const ends = endsOf(links, trained)
    if (ends.length === 0) return Recordings.untrained
    const made = ends.map((end) => sequenceOf(tokenizer, links, end, trained))
    const fault = alterationOf(links) ?? made.map(unsoundness).find((one) => one !== undefined)
    if (fault !== undefined) return fault
    for (const { answer, kept } of links) trained.set(answer, Math.max(kept, trained.get(answer) ?? 0))
    return made
  }
  return Recordings.ofPaths(tips, sequencesOf, areSelected)
}

/** The links at which the sequences of a path end, one for each way of sampling that is still untrained. */
const endsOf = (links: Links, trained: Trained): ReadonlyArray<number> => {
  const last = links.findLastIndex(({ answer }) => answer.data.isTrained)
  if (last === -1) return []
  const isWhole = last === links.length - 1
  const { answer, kept } = links[last]!
  if (!isWhole && kept <= (trained.get(answer) ?? 0)) return []
  const ends: Array<number> = [last]
  for (let at = last - 1; at >= 0; at--) {
    const { answer, kept } = links[at]!
    const isKnown = ends.some((end) => Sampling.areEqual(links[end]!.answer.data.sampling, answer.data.sampling))
    if (!isKnown && answer.data.isTrained && kept > (trained.get(answer) ?? 0)) ends.push(at)
  }
  return ends.toReversed()
}

const none = new Int32Array()

/** The sequence that ends at a link and trains what was sampled like it. */
const sequenceOf = (tokenizer: TokenizerShape, links: Links, end: number, trained: Trained): RecordedSequence => {
  const { answer: tip, kept: length, start } = links[end]!
  const { sampling } = tip.data
  const tokens = new Int32Array(start + length)
  const mask = new Uint8Array(tokens.length)
  const logprobs = new Float32Array(tokens.length).fill(notSampled)
  const turns: Array<TrainedTurn> = []
  const runs: Array<VersionRuns.Run> = []
  const hasKept = links.slice(0, end + 1).some(({ answer }) => answer.data.kept !== undefined)
  const keptTokens: Array<Int32Array> = hasKept ? Array.from(tokens, () => none) : []
  for (const { answer, kept, start } of links.slice(0, end + 1)) {
    const { ids } = answer.prompt.data
    tokens.set(ids, start - ids.length)
    tokens.set(answer.data.ids.subarray(0, kept), start)
    const from = Math.min(kept, trained.get(answer) ?? 0)
    if (!answer.data.isTrained || !Sampling.areEqual(answer.data.sampling, sampling)) continue
    if (from === kept && kept > 0) continue
    mask.fill(1, start + from, start + kept)
    logprobs.set(answer.data.logprobs.subarray(from, kept), start + from)
    for (let at = from; at < kept && answer.data.kept; at++) keptTokens[start + at] = answer.data.kept[at]!
    runs.push(...TokenTree.runsWithin(answer.data.versions, from, kept, start))
    turns.push({ turn: answer.turn, start: start + from, end: start + kept })
  }
  const versionRuns = VersionRuns.make(runs)
  const policyVersion = versionRuns ? VersionRuns.oldest(versionRuns) : runs[0]?.version
  const routedExperts = RoutedPath.ofLinks(
    links.slice(0, end + 1).map(({ answer: { data }, kept, start }) => {
      return { routed: data.routed, start, tokens: data.ids.length, kept }
    })
  )
  return {
    sequence: tip.sequence,
    turns,
    trajectory: {
      messages: messagesOf(tokenizer, tip),
      completion: tip.text,
      finishReason: tip.data.finishReason,
      tokens,
      mask,
      logprobs,
      ...(policyVersion !== undefined && { policyVersion }),
      ...(versionRuns && { versionRuns }),
      ...(hasKept && { keptTokens }),
      ...(routedExperts && { routedExperts }),
      ...(sampling !== undefined && { sampling }),
      turns: links.slice(0, end + 1).map(({ answer }) => answer.data.time)
    }
  }
}

const messagesOf = (tokenizer: TokenizerShape, tip: TokenTree.TokenAnswer): ReadonlyArray<Message> =>
  tip.prompt.data.isChat
    ? chatOf(tip)
    : [{ role: "user", content: TokenText.promptText(tokenizer, tip.prompt.data) }, tip.message]

/** Verifies the ids of a path against the checksums of what was sent and received for each answer. */
const alterationOf = (links: Links): Recordings.Fault | undefined => {
  let sum = TokenTree.seed
  for (const [index, { answer, kept }] of links.entries()) {
    const { data, prompt } = answer
    sum = TokenTree.checksum(sum, prompt.data.ids)
    const whole = TokenTree.checksum(sum, data.ids)
    if (sum !== prompt.data.checksum || whole !== data.checksum) {
      const what = sum === prompt.data.checksum ? "sampled as" : "asked for in"
      return {
        reason: "altered",
        message: `its token ids differ from those ${what} answer ${answer.turn} of the session, link ${index} of its path`
      }
    }
    sum = TokenTree.checksum(sum, data.ids, 0, kept)
  }
  return undefined
}

const unsoundness = ({ trajectory }: RecordedSequence): Recordings.Fault | undefined => {
  const problem = Alignment.violation(trajectory)
  return problem === undefined ? undefined : { reason: "unsound", message: problem }
}
