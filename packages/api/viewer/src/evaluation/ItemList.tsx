/** Renders the items as a virtual list in columns. One link at a time is in the tab order. */
import { useVirtualizer } from "@tanstack/react-virtual"
import { type CSSProperties, useEffect, useRef } from "react"
import { Link } from "wouter"
import { parse } from "../route/Location.ts"
import { number } from "../ui/Format.ts"
import { phone, useMedia } from "../ui/useMedia.ts"
import * as Items from "./Items.ts"

interface Props {
  readonly items: ReadonlyArray<Items.Item>
  readonly current: number | null
  readonly hasCategories: boolean
  readonly emptyText: string
}

/** Heights as in evaluation.css. */
const rowHeight = 58
const phoneRowHeight = 92

export const ItemList = ({ current, emptyText, hasCategories, items }: Props) => {
  const scroller = useRef<HTMLDivElement>(null)
  const height = useMedia(phone) ? phoneRowHeight : rowHeight
  const virtualizer = useVirtualizer({
    count: items.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => height,
    overscan: 8
  })
  useEffect(() => virtualizer.measure(), [virtualizer, height])
  useEffect(() => {
    if (current !== null) virtualizer.scrollToIndex(current)
  }, [virtualizer, current])
  const [first] = items
  if (first === undefined) return <p className="muted item-list-empty">{emptyText}</p>
  const hasGold = items.some(({ gold }) => gold !== "")
  const shown: Shown = { hasCategories, hasGold }
  return (
    <div
      className="item-list"
      ref={scroller}
      tabIndex={0}
      role="region"
      aria-label="Items"
      style={{ "--columns": tracks(shown, first.sides.length) } as CSSProperties}
    >
      <Heads sides={first.sides.length} {...shown} />
      <ul style={{ height: virtualizer.getTotalSize() }}>
        {virtualizer.getVirtualItems().map(({ index, start }) => {
          const item = items[index]
          return item === undefined ? null : (
            <li
              key={item.id}
              style={{ transform: `translateY(${start}px)`, height }}
              aria-posinset={index + 1}
              aria-setsize={items.length}
            >
              <Row item={item} isCurrent={index === current} isInTabOrder={index === (current ?? 0)} {...shown} />
            </li>
          )
        })}
      </ul>
    </div>
  )
}

interface Shown {
  readonly hasCategories: boolean
  readonly hasGold: boolean
}

const tracks = ({ hasCategories, hasGold }: Shown, sides: number): string =>
  [
    `${3.25 * sides}rem`,
    "minmax(0, 3fr)",
    ...(hasCategories ? ["minmax(0, 8rem)"] : []),
    ...(hasGold ? ["minmax(0, 2fr)"] : []),
    `repeat(${sides}, minmax(0, 2fr))`
  ].join(" ")

/** Screen readers have the words in each row. */
const Heads = ({ hasCategories, hasGold, sides }: Shown & { readonly sides: number }) => (
  <p className="item-heads" aria-hidden="true">
    <span>Score</span>
    <span>Input</span>
    {hasCategories && <span className="item-category">Category</span>}
    {hasGold && <span className="item-answer">Expected</span>}
    {sides === 1 ? (
      <span className="item-answer">Answer</span>
    ) : (
      ["First answer", "Second answer"].map((name) => (
        <span className="item-answer" key={name}>
          {name}
        </span>
      ))
    )}
  </p>
)

const pathOf = (id: string): string => {
  const { path, search } = parse(window.location.hash)
  const parameters = new URLSearchParams(search)
  parameters.set("item", id)
  parameters.delete("sample")
  return `${path}?${parameters.toString()}`
}

const Row = ({
  hasCategories,
  hasGold,
  isCurrent,
  isInTabOrder,
  item
}: Shown & {
  readonly item: Items.Item
  readonly isCurrent: boolean
  readonly isInTabOrder: boolean
}) => (
  <Link
    className="item-row"
    href={pathOf(item.id)}
    aria-current={isCurrent || undefined}
    tabIndex={isInTabOrder ? 0 : -1}
  >
    <span className="item-marks">
      {item.sides.map((side, at) => (
        // oxlint-disable-next-line react/no-array-index-key -- the first and the second never change places
        <Mark key={at} side={side} />
      ))}
    </span>
    <span className="item-label">{item.label}</span>
    {hasCategories && <span className="item-category muted">{item.category}</span>}
    {hasGold && <Cell name="expected" text={item.gold} other={answersOf(item)[0]} />}
    {item.sides.map(({ samples: [first] }, at) => (
      <Cell
        // oxlint-disable-next-line react/no-array-index-key
        key={at}
        name="answer"
        text={answersOf(item)[at]!}
        other={item.gold}
        isRight={first?.correct}
      />
    ))}
  </Link>
)

const answersOf = ({ sides }: Items.Item): ReadonlyArray<string> =>
  sides.map(({ samples: [first] }) => (first === undefined ? "" : Items.shownAnswer(first)))

/** A long text from where it differs from the `other`; all of it is in the tooltip. */
const Cell = ({
  isRight,
  name,
  other = "",
  text
}: {
  readonly other?: string | undefined
  readonly name: string
  readonly text: string
  readonly isRight?: boolean | undefined
}) => (
  <span
    className={isRight === undefined ? "item-answer" : `item-answer ${isRight ? "item-right" : "item-wrong"}`}
    title={text}
  >
    <span className="sr-only">{name} </span>
    {Items.fromDifference(text, other)}
  </span>
)

const Mark = ({ side: { isJudged, samples, share } }: { readonly side: Items.Side }) =>
  !isJudged ? (
    <span className="item-mark number">
      <span className="sr-only">score </span>
      {number(share, 2)}
    </span>
  ) : samples.length === 1 ? (
    <span className={share === 1 ? "item-mark is-right" : "item-mark is-wrong"}>
      <span aria-hidden="true">{share === 1 ? "✓" : "✗"}</span>
      <span className="sr-only">{share === 1 ? "right" : "wrong"}</span>
    </span>
  ) : (
    <span className={`item-mark ${share === 1 ? "is-right" : share === 0 ? "is-wrong" : ""}`}>
      {`${Math.round(share * samples.length)}/${samples.length}`}
      <span className="sr-only"> right</span>
    </span>
  )
