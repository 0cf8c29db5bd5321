/**
 * Splits the chats of a session into conversations, so that a reward of one answer counts for the conversation that
 * has this very answer.
 *
 * Chats that continue the same answer differently are separate conversations. One that rewrites the history of another
 * (its messages quote the other's last answer) is the same conversation, and so are the inner sequences of a chat
 * whose template rewrites earlier turns. A rated answer that several conversations share is a conversation by itself;
 * none of them has its reward. Abandoned answers are no conversation unless they are rated.
 */
import * as Paths from "./Paths.ts"
import * as SameMessage from "./SameMessage.ts"
import { type Answer, pathOf, type SessionTree } from "./SessionTree.ts"

export interface Branch<P, A> {
  /** The last answers of its sequences. */
  readonly ends: ReadonlyArray<Answer<P, A>>
  /** The rated answers whose rewards it has. */
  readonly rated: ReadonlyArray<number>
}

interface Group<P, A> {
  readonly ends: Array<Answer<P, A>>
  readonly turns: Set<number>
  readonly rated: Array<number>
}

const isLeaf = <P, A>({ prompts }: Answer<P, A>): boolean => prompts.every(({ answers }) => answers.length === 0)

/** `rated`: the numbers of the answers with a reward. */
export const of = <P, A>(
  { answers, tips }: Pick<SessionTree<P, A>, "answers" | "tips">,
  rated: ReadonlySet<number>
): ReadonlyArray<Branch<P, A>> => {
  const leaves = tips.filter((tip) => isLeaf(tip) && (rated.has(tip.turn) || !Paths.isAbandoned(tip)))
  const rewritten = rewrites(leaves, rated)
  const groups = new Map<Answer<P, A>, Group<P, A>>()
  for (const leaf of leaves) {
    let last = leaf
    // Ends: a rewriting request is later than what it quotes.
    for (let next = rewritten.get(last); next !== undefined; next = rewritten.get(last)) last = next
    const group = groups.get(last) ?? { ends: [], turns: new Set(), rated: [] }
    groups.set(last, group)
    group.ends.push(leaf)
    for (const { turn } of pathOf(leaf)) group.turns.add(turn)
  }
  const all = [...groups.values()]
  for (const tip of tips) if (!isLeaf(tip)) all.find(({ turns }) => turns.has(tip.turn))?.ends.push(tip)
  const own: Array<Branch<P, A>> = []
  for (const turn of rated) {
    const sharing = all.filter(({ turns }) => turns.has(turn))
    if (sharing.length === 1) sharing[0]!.rated.push(turn)
    else own.push({ ends: [answers[turn]!], rated: [turn] })
  }
  return [
    ...all.map((group) => ({ ends: group.ends.toSorted((a, b) => a.sequence - b.sequence), rated: group.rated })),
    ...own
  ]
}

/** The leaves whose history another leaf rewrites, with the latter. */
const rewrites = <P, A>(
  leaves: ReadonlyArray<Answer<P, A>>,
  rated: ReadonlySet<number>
): ReadonlyMap<Answer<P, A>, Answer<P, A>> => {
  const found = new Map<Answer<P, A>, Answer<P, A>>()
  // A conversation that was rated takes precedence, if several continue the rewritten history.
  const isRated = (leaf: Answer<P, A>) => pathOf(leaf).some(({ turn }) => rated.has(turn))
  for (const leaf of leaves.toSorted((a, b) => Number(isRated(b)) - Number(isRated(a)))) {
    for (const { askedAt, prompt } of pathOf(leaf)) {
      for (const message of prompt.asked.slice(0, -1)) {
        if (message.role !== "assistant") continue
        const quoted = leaves.filter((one) => one.cameAt < askedAt && SameMessage.isAnswer(message, one))
        const [only] = quoted
        if (quoted.length === 1 && only !== undefined && !found.has(only)) found.set(only, leaf)
      }
    }
  }
  return found
}
