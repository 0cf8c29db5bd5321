/** Shows an item in full: prompt, expected answer, each evaluation's answer, and the explanation of its score. */
import { useState } from "react"
import { Reading } from "../groups/message/Reading.ts"
import { Markdown, PlainText } from "../groups/message/Markdown.tsx"
import { Messages } from "../groups/message/MessageView.tsx"
import { Json } from "../groups/message/ToolParts.tsx"
import type * as Wire from "../source/Wire.ts"
import { useRemote } from "../state/useRemote.ts"
import { count, number } from "../ui/Format.ts"
import { Failure, Loading } from "../ui/Note.tsx"
import type { Item } from "./Items.ts"
import { titleOf } from "./Title.ts"
import * as Predicate from "effect/Predicate"
import { type Message, read as readMessage } from "../groups/message/Message.ts"

/** Parses a sample for its page. Lines may come from third parties: unknown fields are shown as they are. */
interface Sample {
  readonly gold: ReadonlyArray<string>
  /** Undefined if answers are not parsed, null if this one could not be. */
  readonly parsed: string | null | undefined
  readonly score: number | null
  /** Undefined if the environment does not define correct. */
  readonly correct: boolean | undefined
  readonly rewards: ReadonlyArray<readonly [name: string, value: number]>
  readonly messages: ReadonlyArray<Message>
  /** The explanation of its score by the environment, the suite or a judge. */
  readonly explanation: ReadonlyArray<readonly [name: string, value: unknown]>
  readonly isCut: boolean
  readonly tokens: number | null
}

const knownKeys = new Set([
  "item",
  "label",
  "id",
  "row",
  "category",
  "gold",
  "parsed",
  "score",
  "rewards",
  "correct",
  "completion",
  "finish_reason",
  "tokens",
  "messages"
])

const chatOf = (line: { readonly [key: string]: unknown }): ReadonlyArray<Message> => {
  const { completion, messages } = line
  if (Array.isArray(messages) && messages.length > 0) return messages.map(readMessage)
  return typeof completion === "string" ? [readMessage({ role: "assistant", content: completion })] : []
}

const read = (value: unknown): Sample => {
  const line = Predicate.isReadonlyObject(value) ? value : {}
  const { correct, finish_reason: reason, gold, parsed, rewards, score, tokens } = line
  return {
    gold: (Array.isArray(gold) ? gold : []).filter((one) => typeof one === "string"),
    parsed: typeof parsed === "string" || parsed === null ? parsed : undefined,
    score: typeof score === "number" ? score : null,
    correct: typeof correct === "boolean" ? correct : undefined,
    rewards: Predicate.isReadonlyObject(rewards)
      ? Object.entries(rewards).filter((entry): entry is [string, number] => typeof entry[1] === "number")
      : [],
    messages: chatOf(line),
    explanation: Object.entries(line).filter(([key, value]) => !knownKeys.has(key) && value !== null),
    isCut: reason === "length",
    tokens: typeof tokens === "number" ? tokens : null
  }
}

const reading = { isSource: false, unfolds: false }

interface Props {
  readonly item: Item
  /** One for each side of the item. */
  readonly evaluations: ReadonlyArray<Wire.EvaluationRow>
  readonly onClose: () => void
}

export const SampleView = ({ evaluations, item, onClose }: Props) => (
  <section className="sample-view" aria-label="Item" data-scrolls tabIndex={0}>
    <header>
      <h2>{item.label}</h2>
      <button type="button" className="small" onClick={onClose}>
        Close
      </button>
    </header>
    <Reading.Provider value={reading}>
      <div className="sample-sides">
        {item.sides.map(({ samples }, at) => {
          const evaluation = evaluations[at]
          return evaluation === undefined ? null : (
            <Side key={evaluation.id} evaluation={evaluation} samples={samples} hasTitle={item.sides.length > 1} />
          )
        })}
      </div>
    </Reading.Provider>
  </section>
)

const Side = ({
  evaluation,
  hasTitle,
  samples
}: {
  readonly evaluation: Wire.EvaluationRow
  readonly samples: ReadonlyArray<Wire.EvaluationSampleRow>
  readonly hasTitle: boolean
}) => {
  const [place, setPlace] = useState(0)
  const sample = samples[place]
  const at = sample?.number ?? 0
  const remote = useRemote(`sample:${evaluation.id}/${at}`, (source, signal) =>
    source.evaluationSample(evaluation.id, at, signal)
  )
  return (
    <article className="sample-side">
      {hasTitle && <h3>{titleOf(evaluation)}</h3>}
      {samples.length > 1 && (
        <div className="presets" role="group" aria-label="Samples of the item">
          {samples.map(({ correct, number }, at) => (
            <button
              key={number}
              type="button"
              className="small"
              aria-pressed={at === place}
              onClick={() => setPlace(at)}
            >
              {correct === undefined ? at + 1 : `${at + 1} ${correct ? "✓" : "✗"}`}
            </button>
          ))}
        </div>
      )}
      {remote.error !== null && remote.value === null ? (
        <Failure error={remote.error} onRetry={remote.reload} />
      ) : remote.value === null || remote.isStale ? (
        <Loading what="sample" />
      ) : (
        <Whole sample={read(remote.value)} />
      )}
    </article>
  )
}

const Whole = ({ sample }: { readonly sample: Sample }) => {
  const { correct, explanation, gold, isCut, messages, parsed, rewards, score, tokens } = sample
  return (
    <>
      <dl className="sample-facts">
        <div>
          <dt>Verdict</dt>
          <dd className={correct === undefined ? "" : correct ? "item-right" : "item-wrong"}>
            {correct !== undefined && `${correct ? "right" : "wrong"}, `}
            {score !== null && <span className="number">score {number(score, 3)}</span>}
            {rewards.map(([name, value]) => (
              <span key={name} className="muted number">{` · ${name} ${number(value, 3)}`}</span>
            ))}
          </dd>
        </div>
        {gold.length > 0 && (
          <div>
            <dt>Expected</dt>
            {gold.map((one, at) => (
              // oxlint-disable-next-line react/no-array-index-key -- answers of a row never move
              <dd key={at}>
                <PlainText text={one} />
              </dd>
            ))}
          </div>
        )}
        {parsed !== undefined && (
          <div>
            <dt>Parsed answer</dt>
            <dd>{parsed === null ? <span className="muted">unparsed</span> : <PlainText text={parsed} />}</dd>
          </div>
        )}
        {explanation.map(([name, value]) => (
          <div key={name}>
            <dt>{name.replaceAll("_", " ")}</dt>
            <dd>{typeof value === "string" ? <Markdown text={value} /> : <Json value={value} />}</dd>
          </div>
        ))}
        <div>
          <dt>Length</dt>
          <dd className="number">
            {tokens === null ? "unknown" : `${count(tokens)} tokens`}
            {isCut && <span className="cut">truncated</span>}
          </dd>
        </div>
      </dl>
      <div className="sample-chat">
        {messages.length === 0 ? (
          <p className="muted">No chat recorded.</p>
        ) : (
          <Messages messages={messages} of={messages} />
        )}
      </div>
    </>
  )
}
