"""The cards that hands of Gymnasium's Blackjack are dealt by seed: dealer's two, player's two, and those to come."""

import copy
import json
import sys

import gymnasium

world = gymnasium.make("Blackjack-v1", sab=True)
deck = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 10, 10, 10]
hands = []
for seed in range(int(sys.argv[1])):
    world.reset(seed=seed)
    hand = world.unwrapped
    random = copy.deepcopy(hand.np_random)
    coming = [int(random.choice(deck)) for _ in range(30)]
    hands.append([int(card) for card in [*hand.dealer, *hand.player, *coming]])
print("\n" + json.dumps(hands))
