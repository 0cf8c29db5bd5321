/**
 * Shows the rollouts of a group side by side, best first, under their shared prompt. Columns out of view are not
 * rendered.
 */
import { useVirtualizer } from "@tanstack/react-virtual"
import { type ReactNode, useEffect, useLayoutEffect, useMemo, useState } from "react"
import type { AdvantageRecipe } from "../source/Wire.ts"
import * as Changes from "../metrics/Changes.ts"
import { useReverified } from "../state/useReverified.ts"
import { useHeight, useWidth } from "../ui/useSize.ts"
import { useShortcuts } from "../ui/useShortcuts.tsx"
import { scaleOf } from "./Components.tsx"
import { type Group, longestAnswer, picturesOf, type Rollout, sharedMessages } from "./model/Group.ts"
import type { Image } from "./message/Image.ts"
import type { Message } from "./message/Message.ts"
import { Messages } from "./message/MessageView.tsx"
import { Pictures } from "./message/Picture.tsx"
import { RolloutHead } from "./RolloutHead.tsx"
import { TokenText } from "./tokens/TokenText.tsx"

interface Props {
  readonly run: string
  readonly id: string
  readonly raw: unknown
  readonly group: Group
  readonly recipe: AdvantageRecipe | null
  readonly rollouts: ReadonlyArray<Rollout>
  /** Index of the selected rollout; null: none. */
  readonly current: number | null
}

const gap = 12
const widest = 880

/** Min width to read an answer of this many JSON characters; a narrower one has no benefit on a phone. */
const narrowest = (characters: number, width: number): number =>
  characters < 120 ? 156 : characters < 400 && width > 700 ? 240 : 330

/** Columns share the width while each is readable; on a phone one fills it, with the edge of the next visible. */
const columnWidth = (width: number, count: number, min: number): number =>
  count === 1
    ? Math.min(width - 2 * gap, widest)
    : Math.min(widest, Math.max(Math.min(min, width - 4 * gap), Math.floor((width - gap) / count) - gap))

export const Board = ({ current, group, id, raw, recipe, rollouts, run }: Props) => {
  const [scroller, setScroller] = useState<HTMLDivElement | null>(null)
  const width = useWidth(scroller)
  const shared = useMemo(() => sharedMessages(group), [group])
  const pictures = useMemo(() => picturesOf(group), [group])
  const { value: reverified } = useReverified(run)
  const now = useMemo(() => (reverified === null ? null : Changes.scoresOf(reverified, id)), [reverified, id])
  const components = useMemo(() => scaleOf(group.rollouts), [group])
  const longest = useMemo(() => longestAnswer(group, shared), [group, shared])
  const column = columnWidth(width, rollouts.length, narrowest(longest, width))
  const virtualizer = useVirtualizer({
    horizontal: true,
    count: width === 0 ? 0 : rollouts.length,
    getScrollElement: () => scroller,
    estimateSize: () => column,
    gap,
    paddingStart: gap,
    paddingEnd: gap,
    overscan: 2
  })
  useLayoutEffect(() => virtualizer.measure(), [virtualizer, column])
  useEffect(() => {
    if (current !== null && width > 0) virtualizer.scrollToIndex(current, { align: "auto" })
  }, [virtualizer, current, width])

  const scroll = (top: number) => scroller?.scrollBy({ top })
  const page = (scroller?.clientHeight ?? 0) - 80
  useShortcuts("Rollouts", [
    { keys: ["ArrowDown"], label: "scroll down", run: () => scroll(60) },
    { keys: ["ArrowUp"], label: "scroll up", run: () => scroll(-60) },
    { keys: ["PageDown", " "], label: "a page down", run: () => scroll(page) },
    { keys: ["PageUp"], label: "a page up", run: () => scroll(-page) }
  ])

  const items = virtualizer.getVirtualItems()
  const prompt = rollouts[0]?.messages?.slice(0, shared) ?? []
  return (
    <div className="board" ref={setScroller} tabIndex={0} role="region" aria-label="Rollouts side by side">
      {width > 0 && (prompt.length > 0 || pictures.shared.length > 0) && (
        <section className="prompt" style={{ width }} aria-label="Prompt of all rollouts">
          <Prompt messages={prompt} pictures={pictures.shared} />
        </section>
      )}
      <div
        role="list"
        className="columns"
        style={{ width: virtualizer.getTotalSize(), paddingLeft: items[0]?.start ?? 0, gap }}
      >
        {items.map(({ index }) => {
          const rollout = rollouts[index]!
          return (
            <div
              role="listitem"
              aria-setsize={rollouts.length}
              aria-posinset={index + 1}
              className={index === current ? "rollout is-current" : "rollout"}
              style={{ width: column }}
              key={rollout.index}
            >
              <RolloutHead
                run={run}
                id={id}
                raw={raw}
                recipe={recipe}
                rollout={rollout}
                components={components}
                now={now?.[rollout.index] ?? null}
              />
              <div className="rollout-body">
                <Pictures images={pictures.own[rollout.index] ?? []} />
                {rollout.messages === null ? (
                  <TokenText run={run} group={id} rollout={rollout} />
                ) : (
                  <Messages messages={rollout.messages.slice(shared)} of={rollout.messages} />
                )}
              </div>
            </div>
          )
        })}
      </div>
    </div>
  )
}

/** Pixels always shown of the question and of its context, and the excess too small for an expand button. */
const questionHeight = 240
const contextHeight = 112
const slack = 48

/**
 * Collapses a long prompt to its beginning and that of its last message, the question: the answers are what differs.
 */
const Prompt = ({
  messages,
  pictures
}: {
  readonly messages: ReadonlyArray<Message>
  readonly pictures: ReadonlyArray<Image>
}) => {
  const [context, setContext] = useState<HTMLDivElement | null>(null)
  const [question, setQuestion] = useState<HTMLDivElement | null>(null)
  const isContextLong = useHeight(context) > contextHeight + slack
  const isQuestionLong = useHeight(question) > questionHeight + slack
  const [isWhole, setIsWhole] = useState(false)
  return (
    <>
      {messages.length > 1 && (
        <Clamped height={isContextLong && !isWhole ? contextHeight : null}>
          <div ref={setContext}>
            <Messages messages={messages.slice(0, -1)} of={messages} />
          </div>
        </Clamped>
      )}
      <Clamped height={isQuestionLong && !isWhole ? questionHeight : null}>
        <div ref={setQuestion}>
          <Messages messages={messages.slice(-1)} of={messages} />
          <Pictures images={pictures} />
        </div>
      </Clamped>
      {(isContextLong || isQuestionLong) && (
        <button type="button" className="small quiet" aria-expanded={isWhole} onClick={() => setIsWhole(!isWhole)}>
          {isWhole ? "Show less of the prompt" : "Show the whole prompt"}
        </button>
      )}
    </>
  )
}

const Clamped = ({ children, height }: { readonly height: number | null; readonly children: ReactNode }) => (
  <div
    className={height === null ? "clamped" : "clamped is-cut"}
    style={height === null ? undefined : { maxHeight: height }}
  >
    {children}
  </div>
)
