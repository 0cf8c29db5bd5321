/**
 * A short answer with partial credit, for small published models: the capital of a country, in one word and nothing
 * else.
 *
 * Score 1 for the capital alone, 0.3 for it inside a longer answer, 0.1 for another answer of one word, else 0. Being
 * right has to pay more than being short: with 0.1 and 0.2 the model learned to answer any word. Every fifth country is
 * held out. `style text` is for a base model, which has no chat template.
 *
 * Run it: `npx atropos up --env examples/models/capitals.ts --model FOLDER` (results: docs/training.md).
 */
import { Environment, Message, ServerManager, type Trajectory } from "@atropos/core"
import { Effect, Schema, Stream } from "effect"

interface Item {
  readonly country: string
  readonly capital: string
  /** Its index in training, which seeds its answers. */
  readonly at?: number
}

const settings = Environment.settings({
  groupSize: Environment.field(Schema.Int.check(Schema.isGreaterThan(0)), 8, "answers per country"),
  style: Environment.field(
    Schema.Literals(["chat", "text"]),
    "chat",
    "chat, or text: a line that a base model continues"
  ),
  seed: Environment.field(Schema.Int, 0, "random seed for the order of the countries and for sampling")
})

const words = (text: string): ReadonlyArray<string> => text.toLowerCase().match(/[\p{L}'-]+/gu) ?? []

export const scoreOf = (answer: string, capital: string): number => {
  const [given, right] = [words(answer), words(capital)]
  if (given.join(" ") === right.join(" ")) return 1
  if (` ${given.join(" ")} `.includes(` ${right.join(" ")} `)) return 0.3
  return given.length === 1 ? 0.1 : 0
}

const question = ({ country }: Item): string => `What is the capital of ${country}?`

export const layer = Environment.layer("capitals", settings, ({ groupSize, maxTokenLength, seed, style }) =>
  Effect.gen(function* () {
    const servers = yield* ServerManager.ServerManager
    const ask = (item: Item, sampling: ServerManager.SamplingOptions) =>
      style === "chat"
        ? servers.chat({
            messages: [Message.user(`${question(item)} Answer with one word.`)],
            maxTokens: maxTokenLength,
            ...sampling
          })
        : servers.complete({
            prompt: `Question: ${question(item)}\nAnswer:`,
            stop: ["\n"],
            maxTokens: maxTokenLength,
            ...sampling
          })
    return {
      items: (cursor: number) =>
        Stream.iterate(cursor, (at) => at + 1).pipe(
          Stream.map((at) => ({ ...training[(at * stride + seed) % training.length]!, at }))
        ),
      collectTrajectories: (item: Item) =>
        ask(item, { n: groupSize, temperature: 1, seed: seed * 1_000_000 + (item.at ?? 0) }),
      score: ({ capital }: Item, group: ReadonlyArray<Trajectory.Trajectory>) =>
        Effect.succeed(group.map(({ completion }) => scoreOf(completion, capital))),
      evaluation: {
        items: Stream.fromIterable(heldOut),
        collectTrajectories: (item: Item) => ask(item, { n: 1, temperature: 0, split: "eval" }),
        isCorrect: (score: number) => score === 1
      },
      label: ({ country }: Item) => country,
      claims: {
        scoreRange: [0, 1] as const,
        gold: ({ capital }: Item) => [capital, `${capital}.`],
        wrong: ({ capital }: Item) => [`The capital of that country is ${capital}.`, "Atlantis", ""]
      }
    }
  })
)

const table = `Afghanistan Kabul, Albania Tirana, Algeria Algiers, Angola Luanda, Argentina Buenos-Aires, Armenia Yerevan, Australia Canberra,
Austria Vienna, Azerbaijan Baku, Bahrain Manama, Bangladesh Dhaka, Barbados Bridgetown, Belarus Minsk, Belgium Brussels, Bhutan Thimphu, Bolivia Sucre,
Botswana Gaborone, Brazil Brasilia, Bulgaria Sofia, Cambodia Phnom-Penh, Cameroon Yaounde, Canada Ottawa, Chad N'Djamena, Chile Santiago, China Beijing,
Colombia Bogota, Croatia Zagreb, Cuba Havana, Cyprus Nicosia, Denmark Copenhagen, Djibouti Djibouti, Ecuador Quito, Egypt Cairo, Eritrea Asmara,
Estonia Tallinn, Ethiopia Addis-Ababa, Fiji Suva, Finland Helsinki, France Paris, Gabon Libreville, Gambia Banjul, Georgia Tbilisi, Germany Berlin,
Ghana Accra, Greece Athens, Guinea Conakry, Guyana Georgetown, Haiti Port-au-Prince, Honduras Tegucigalpa, Hungary Budapest, Iceland Reykjavik,
India New-Delhi, Indonesia Jakarta, Iran Tehran, Iraq Baghdad, Ireland Dublin, Israel Jerusalem, Italy Rome, Jamaica Kingston, Japan Tokyo, Jordan Amman,
Kazakhstan Astana, Kenya Nairobi, Kyrgyzstan Bishkek, Laos Vientiane, Latvia Riga, Lebanon Beirut, Lesotho Maseru, Liberia Monrovia, Libya Tripoli,
Lithuania Vilnius, Luxembourg Luxembourg, Madagascar Antananarivo, Malawi Lilongwe, Malaysia Kuala-Lumpur, Mali Bamako, Malta Valletta,
Mauritania Nouakchott, Mauritius Port-Louis, Mexico Mexico-City, Moldova Chisinau, Mongolia Ulaanbaatar, Montenegro Podgorica, Morocco Rabat,
Mozambique Maputo, Namibia Windhoek, Nepal Kathmandu, Netherlands Amsterdam, Nicaragua Managua, Niger Niamey, Nigeria Abuja, Norway Oslo, Oman Muscat,
Pakistan Islamabad, Panama Panama-City, Paraguay Asuncion, Peru Lima, Philippines Manila, Poland Warsaw, Portugal Lisbon, Qatar Doha, Romania Bucharest,
Russia Moscow, Rwanda Kigali, Senegal Dakar, Serbia Belgrade, Singapore Singapore, Slovakia Bratislava, Slovenia Ljubljana, Somalia Mogadishu, Spain Madrid,
Sudan Khartoum, Suriname Paramaribo, Sweden Stockholm, Switzerland Bern, Syria Damascus, Taiwan Taipei, Tajikistan Dushanbe, Tanzania Dodoma,
Thailand Bangkok, Togo Lome, Tunisia Tunis, Turkey Ankara, Turkmenistan Ashgabat, Uganda Kampala, Ukraine Kyiv, Uruguay Montevideo, Uzbekistan Tashkent,
Venezuela Caracas, Vietnam Hanoi, Yemen Sanaa, Zambia Lusaka, Zimbabwe Harare`

const all = table.split(/,\s+/).map((entry): Item => {
  const [country = "", capital = ""] = entry.split(" ")
  return { country, capital: capital.replaceAll("-", " ").replace("Port au Prince", "Port-au-Prince") }
})

const heldOut = all.filter((_, index) => index % 5 === 0)
export const training = all.filter((_, index) => index % 5 !== 0)
/** Coprime to any number of countries here, so that every one is used, in a non-alphabetical order. */
const stride = 37
