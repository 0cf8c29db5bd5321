/**
 * Generates a small gazetteer of a fictional country, and questions that its articles answer. Pure: seeded.
 *
 * Its towns and people are fictional, so an answer has to be looked up; some need two articles.
 */
import { SeededRandom } from "@atropos/core"

const towns = [
  "Arvenholt",
  "Brackwater",
  "Celmoor",
  "Dunvale",
  "Eskerby",
  "Fennick",
  "Garrowden",
  "Hollisport",
  "Ilverton",
  "Kestrelow"
] as const
const people = [
  "Ansa Verrin",
  "Bodo Halk",
  "Clea Mordane",
  "Dain Tolliver",
  "Edda Rusk",
  "Faro Lindel",
  "Gwen Asher",
  "Hale Ombric"
] as const
const trades = ["glass", "clocks", "rope", "paper", "bells", "saddles", "lace", "cider"] as const
const callings = ["botanist", "engineer", "poet", "surveyor", "composer", "astronomer"] as const
const rivers = ["Tamme", "Orrin", "Sull", "Welde"] as const

export interface Article {
  readonly title: string
  readonly text: string
}

interface Town {
  readonly name: string
  readonly river: string
  readonly trade: string
  readonly inhabitants: number
  readonly bridgeYear: number
}

interface Person {
  readonly name: string
  readonly calling: string
  readonly birthplace: Town
  readonly born: number
}

export interface Gazetteer {
  readonly articles: ReadonlyArray<Article>
  readonly towns: ReadonlyArray<Town>
  readonly people: ReadonlyArray<Person>
}

export const make = (seed: number): Gazetteer => {
  const random = SeededRandom.seeded(seed, 1)
  const all = towns.map((name): Town => ({
    name,
    river: random.pick(rivers),
    trade: random.pick(trades),
    inhabitants: random.between(8, 900) * 100,
    bridgeYear: random.between(1702, 1961)
  }))
  const born = people.map((name): Person => ({
    name,
    calling: random.pick(callings),
    birthplace: random.pick(all),
    born: random.between(1720, 1940)
  }))
  const articles = [
    ...all.map(({ bridgeYear, inhabitants, name, river, trade }) => ({
      title: name,
      text: `${name} is a town on the river ${river}. It has ${inhabitants} inhabitants and is known for its ${trade}. The stone bridge of ${name} was opened in ${bridgeYear}.`
    })),
    ...born.map(({ birthplace, born: year, calling, name }) => ({
      title: name,
      text: `${name} was a ${calling}, born in ${birthplace.name} in ${year}.`
    }))
  ]
  return { articles, towns: all, people: born }
}

const wordsOf = (text: string): ReadonlyArray<string> => text.toLowerCase().match(/[\p{L}\d]+/gu) ?? []

/**
 * The best articles for a query: scored by the sum of log(n / articles with the word) over matching words; empty if no
 * word matches.
 */
export const search = ({ articles }: Gazetteer, query: string, max: number): ReadonlyArray<Article> => {
  const indexed = articles.map((article) => ({ article, words: new Set(wordsOf(`${article.title} ${article.text}`)) }))
  const terms = new Set(wordsOf(query))
  const weightOf = (word: string): number => {
    const count = indexed.filter(({ words }) => words.has(word)).length
    return count === 0 ? 0 : Math.log(articles.length / count)
  }
  const weights = Array.from(terms, (word) => [word, weightOf(word)] as const)
  return indexed
    .map(({ article, words }) => ({
      article,
      score: weights.reduce((sum, [word, weight]) => sum + (words.has(word) ? weight : 0), 0)
    }))
    .filter(({ score }) => score > 0)
    .toSorted((a, b) => b.score - a.score)
    .slice(0, max)
    .map(({ article }) => article)
}

/** A question about one article, or about a person's birthplace. */
export const ask = ({ people, towns }: Gazetteer, random: SeededRandom.SeededRandom) => {
  const town = random.pick(towns)
  const person = random.pick(people)
  return random.pick([
    { question: `In which year was the bridge of ${town.name} opened?`, answer: String(town.bridgeYear) },
    { question: `On which river does ${town.name} lie?`, answer: town.river },
    { question: `On which river does the town lie in which ${person.name} was born?`, answer: person.birthplace.river },
    {
      question: `What is the town known for in which ${person.name} was born? Answer with one word.`,
      answer: person.birthplace.trade
    },
    {
      question: `How many years lie between the birth of ${person.name} and the opening of the bridge of the same town?`,
      answer: String(Math.abs(person.birthplace.bridgeYear - person.born))
    }
  ])
}
