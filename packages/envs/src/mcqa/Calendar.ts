/** Questions about weekdays, months and leap years. */
import type { Draw } from "./Question.ts"

const capital = (word: string): string => word.charAt(0).toUpperCase() + word.slice(1)

const days = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"]
const months = "january february march april may june july august september october november december".split(" ")
const lengths = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]

export const weekday: Draw = (random, choices) => {
  const from = random.between(0, 6)
  const distance = random.between(1, 20)
  const isAfter = random.chance(0.5)
  const right = days[(((isAfter ? from + distance : from - distance) % 7) + 7) % 7]!
  return {
    question: `Which day is ${distance === 1 ? "one day" : `${distance} days`} ${isAfter ? "after" : "before"} a ${capital(days[from]!)}?`,
    compact: `${days[from]}${isAfter ? "+" : "-"}${distance}`,
    right,
    wrong: random.sample(
      days.filter((day) => day !== right),
      choices - 1
    ),
    format: capital
  }
}

export const month: Draw = (random, choices) => {
  const from = random.between(0, 11)
  const distance = random.between(1, 15)
  const right = months[(from + distance) % 12]!
  return {
    question: `Which month is ${distance === 1 ? "one month" : `${distance} months`} after ${capital(months[from]!)}?`,
    compact: `${months[from]}+${distance}`,
    right,
    wrong: random.sample(
      months.filter((one) => one !== right),
      choices - 1
    ),
    format: capital
  }
}

/** The length of a month, every length equally often; February is of a year that is not a leap year. */
export const monthLength: Draw = (random, choices) => {
  const length = random.pick([28, 30, 31])
  const at = random.pick(lengths.flatMap((one, month) => (one === length ? [month] : [])))
  const right = String(length)
  return {
    question: `How many days has ${capital(months[at]!)}${at === 1 ? " in a year that is not a leap year" : ""}?`,
    compact: `days:${months[at]}`,
    right,
    wrong: ["31", "30", "28", "29", "32", "27", "33"].filter((one) => one !== right).slice(0, choices - 1)
  }
}

const isLeap = (year: number): boolean => (year % 4 === 0 && year % 100 !== 0) || year % 400 === 0

/** The only leap year, or the only year that is not, among similar ones, including centuries. */
export const leapYear: Draw = (random, choices) => {
  const wantsLeap = random.chance(0.5)
  const drawYear = () => (random.chance(0.3) ? 100 * random.between(16, 24) : random.between(1600, 2400))
  const draw = (leap: boolean): number => {
    let year = drawYear()
    while (isLeap(year) !== leap) year = drawYear()
    return year
  }
  const right = draw(wantsLeap)
  const wrong = new Set<number>()
  while (wrong.size < choices - 1) wrong.add(draw(!wantsLeap))
  return {
    question: `Which of these years is ${wantsLeap ? "a leap year" : "not a leap year"}?`,
    compact: wantsLeap ? "leap" : "noleap",
    right: String(right),
    wrong: Array.from(wrong, String)
  }
}
