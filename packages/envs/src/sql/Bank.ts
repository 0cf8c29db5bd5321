/**
 * Generates questions with their queries and databases.
 *
 * Every question is judged on several databases with the same tables and different contents (Zhong et al. 2020,
 * https://arxiv.org/abs/2010.02840): a query that is right by chance on one of them fails on another. The contents
 * ensure that no question has an empty answer, and that no maximum or minimum is tied.
 */
import type { SeededRandom } from "@atropos/core"
import { type DatabaseShape, databases, type TableShape } from "./Schemas.ts"

export interface Task {
  readonly question: string
  readonly gold: string
  /** SQL that creates each database; the prompt shows the first. */
  readonly databases: ReadonlyArray<string>
}

const copies = 3

const columnsOf = ({ category, quantities }: TableShape): string =>
  [
    "id INTEGER PRIMARY KEY",
    "name TEXT NOT NULL",
    `${category.column} TEXT NOT NULL`,
    ...quantities.map(({ column }) => `${column} INTEGER NOT NULL`)
  ].join(", ")

/** Distinct numbers of a range. */
const different = (random: SeededRandom.SeededRandom, min: number, max: number, count: number): Array<number> => {
  const found = new Set<number>()
  while (found.size < count) found.add(random.between(min, max))
  return Array.from(found)
}

/** Rows without their parents: each category occurs, names and numbers are distinct. */
const rowsOf = (shape: TableShape, count: number, random: SeededRandom.SeededRandom): Array<Array<string>> => {
  const [firsts, seconds] = shape.names
  const names = random.sample(
    firsts.flatMap((first) => seconds.map((second) => `${first} ${second}`)),
    count
  )
  const { values } = shape.category
  const categories = random.shuffle(names.map((_, at) => values[at] ?? random.pick(values)))
  const [first, second] = shape.quantities.map(({ least: min, max }) => different(random, min, max, names.length))
  return names.map((name, at) => [
    String(at + 1),
    `'${name}'`,
    `'${categories[at]!}'`,
    String(first![at]!),
    String(second![at]!)
  ])
}

const insert = (table: string, rows: ReadonlyArray<ReadonlyArray<string>>): string =>
  `INSERT INTO ${table} VALUES\n${rows.map((row) => `(${row.join(", ")})`).join(",\n")};`

/** SQL that creates one database. The last parent has no child; every other has at least one. */
const scriptOf = ({ child, parent }: DatabaseShape, random: SeededRandom.SeededRandom): string => {
  const parents = rowsOf(parent, random.between(8, 10), random)
  const owners = parents.length - 1
  const children = rowsOf(child, random.between(22, 30), random).map((row, at) => [
    ...row,
    String(at < owners ? at + 1 : random.between(1, owners))
  ])
  return [
    `CREATE TABLE ${parent.table} (${columnsOf(parent)});`,
    `CREATE TABLE ${child.table} (${columnsOf(child)}, ${parent.table}_id INTEGER NOT NULL REFERENCES ${parent.table}(id));`,
    insert(parent.table, parents),
    insert(child.table, children)
  ].join("\n")
}

type Asked = Pick<Task, "question" | "gold">
type Template = (shape: DatabaseShape, random: SeededRandom.SeededRandom) => Asked

/** The middle of a range: some values are above it and some below, in any contents. */
const middle = ({ least: min, max }: { readonly least: number; readonly max: number }): number =>
  Math.round((min + max) / 2)

const side = ({ child, parent }: DatabaseShape, random: SeededRandom.SeededRandom): TableShape =>
  random.chance(0.5) ? child : parent

const simple: ReadonlyArray<Template> = [
  (shape, random) => {
    const { category, many, table } = side(shape, random)
    const value = random.pick(category.values)
    return {
      question: `How many ${many} have the ${category.label} "${value}"?`,
      gold: `SELECT COUNT(*) FROM ${table} WHERE ${category.column} = '${value}'`
    }
  },
  (shape, random) => {
    const { category, many, table } = side(shape, random)
    const value = random.pick(category.values)
    return {
      question: `What are the names of the ${many} whose ${category.label} is "${value}"?`,
      gold: `SELECT name FROM ${table} WHERE ${category.column} = '${value}'`
    }
  },
  (shape, random) => {
    const { many, quantities, table } = side(shape, random)
    const { column, label } = random.pick(quantities)
    const count = random.between(2, 5)
    const isMost = random.chance(0.5)
    return {
      question: `Which ${count} ${many} have the ${isMost ? "highest" : "lowest"} ${label}? Give their names, the ${isMost ? "highest" : "lowest"} first.`,
      gold: `SELECT name FROM ${table} ORDER BY ${column} ${isMost ? "DESC" : "ASC"} LIMIT ${count}`
    }
  },
  (shape, random) => {
    const { many, quantities, table } = side(shape, random)
    const { column, label } = random.pick(quantities)
    const [word, name] = random.pick([
      ["average", "AVG"],
      ["total", "SUM"],
      ["highest", "MAX"],
      ["lowest", "MIN"]
    ] as const)
    return { question: `What is the ${word} ${label} of all ${many}?`, gold: `SELECT ${name}(${column}) FROM ${table}` }
  }
]

const grouped: ReadonlyArray<Template> = [
  ({ child }, random) => {
    const { category, many, quantities, table } = child
    const { column, label } = random.pick(quantities)
    return {
      question: `For each ${category.label} of ${many}, give the ${category.label} and the average ${label}.`,
      gold: `SELECT ${category.column}, AVG(${column}) FROM ${table} GROUP BY ${category.column}`
    }
  },
  ({ child }, random) => {
    const { category, many, table } = child
    const more = random.between(2, 4)
    return {
      question: `Give every ${category.label} that more than ${more} ${many} have, with their number, the largest number first and in the order of the ${category.label} where numbers are equal.`,
      gold: `SELECT ${category.column}, COUNT(*) AS n FROM ${table} GROUP BY ${category.column} HAVING n > ${more} ORDER BY n DESC, ${category.column}`
    }
  },
  (shape, random) => {
    const { many, quantities, table } = side(shape, random)
    const { column, label } = random.pick(quantities)
    return {
      question: `Which ${many} have a ${label} above the average of all ${many}? Give names and ${label}.`,
      gold: `SELECT name, ${column} FROM ${table} WHERE ${column} > (SELECT AVG(${column}) FROM ${table})`
    }
  },
  ({ child }) => {
    const { category, many, quantities, table } = child
    const [first, second] = quantities
    return {
      question: `How many ${many} have a ${first.label} of more than ${middle(first)} or a ${second.label} of less than ${middle(second)}, for each ${category.label} that has such ${many}?`,
      gold: `SELECT ${category.column}, COUNT(*) FROM ${table} WHERE ${first.column} > ${middle(first)} OR ${second.column} < ${middle(second)} GROUP BY ${category.column}`
    }
  }
]

const joined: ReadonlyArray<Template> = [
  ({ child, parent }) => ({
    question: `How many ${child.many} does each ${parent.one} have? Give the name of every ${parent.one}, those without any too, and the number.`,
    gold: `SELECT p.name, COUNT(c.id) FROM ${parent.table} p LEFT JOIN ${child.table} c ON c.${parent.table}_id = p.id GROUP BY p.id`
  }),
  ({ child, parent }) => ({
    question: `Which ${parent.many} have no ${child.many}? Give their names.`,
    gold: `SELECT name FROM ${parent.table} WHERE id NOT IN (SELECT ${parent.table}_id FROM ${child.table})`
  }),
  ({ child, parent }, random) => {
    const { column, label } = random.pick(child.quantities)
    return {
      question: `What is the highest ${label} of a ${child.one} for each ${parent.one} that has any? Give the name of the ${parent.one} and that ${label}, in the order of the names.`,
      gold: `SELECT p.name, MAX(c.${column}) FROM ${parent.table} p JOIN ${child.table} c ON c.${parent.table}_id = p.id GROUP BY p.id ORDER BY p.name`
    }
  },
  ({ child, parent }, random) => {
    const { column, label } = random.pick(child.quantities)
    return {
      question: `For each ${parent.category.label} of ${parent.many} with ${child.many}, what is the total ${label} of the ${child.many} there?`,
      gold: `SELECT p.${parent.category.column}, SUM(c.${column}) FROM ${parent.table} p JOIN ${child.table} c ON c.${parent.table}_id = p.id GROUP BY p.${parent.category.column}`
    }
  },
  ({ child, parent }, random) => {
    const { column, label } = random.pick(child.quantities)
    return {
      question: `Give the name of the ${child.one} with the highest ${label} and the name of its ${parent.one}.`,
      gold: `SELECT c.name, p.name FROM ${child.table} c JOIN ${parent.table} p ON p.id = c.${parent.table}_id ORDER BY c.${column} DESC LIMIT 1`
    }
  }
]

/** Cumulative levels: one table, groups, two tables. */
export const levels = [simple, [...simple, ...grouped], [...simple, ...grouped, ...joined]] as const

/** A question up to a level, from 1. */
export const draw = (random: SeededRandom.SeededRandom, level: number): Task => {
  const shape = random.pick(databases)
  const question = random.pick(levels[Math.min(levels.length, level) - 1]!)(shape, random)
  return { ...question, databases: Array.from({ length: copies }, () => scriptOf(shape, random)) }
}
