/** Generates questions that are tedious without a calculator or a program, and their answers. Pure: seeded. */
import type { SeededRandom } from "@atropos/core"

interface Question {
  readonly question: string
  readonly answer: string
}

export const calculation = (random: SeededRandom.SeededRandom): Question => {
  const [a, b, c] = [random.between(120, 9999), random.between(12, 999), random.between(1000, 99_999)]
  return random.chance(0.5)
    ? { question: `What is ${a} * ${b} - ${c}?`, answer: String(a * b - c) }
    : { question: `What is (${a} + ${c}) * ${b}?`, answer: String((a + c) * b) }
}

const upTo = (max: number): ReadonlyArray<number> => Array.from({ length: max }, (_, index) => index + 1)

const isPrime = (n: number): boolean => n > 1 && upTo(Math.floor(Math.sqrt(n))).every((d) => d === 1 || n % d !== 0)

const digitSum = (n: number): number => Array.from(String(n)).reduce((sum, digit) => sum + Number(digit), 0)

export const program = (random: SeededRandom.SeededRandom): Question => {
  const max = random.between(200, 1500)
  const divisor = random.between(3, 13)
  switch (random.between(0, 2)) {
    case 0:
      return {
        question: `What is the sum of all prime numbers up to ${max}?`,
        answer: String(
          upTo(max)
            .filter(isPrime)
            .reduce((sum, n) => sum + n, 0)
        )
      }
    case 1:
      return {
        question: `How many numbers from 1 to ${max} have a sum of digits that ${divisor} divides?`,
        answer: String(upTo(max).filter((n) => digitSum(n) % divisor === 0).length)
      }
    default:
      return {
        question: `What is the sum of the squares of all numbers from 1 to ${max} that ${divisor} divides?`,
        answer: String(
          upTo(max)
            .filter((n) => n % divisor === 0)
            .reduce((sum, n) => sum + n * n, 0)
        )
      }
  }
}
