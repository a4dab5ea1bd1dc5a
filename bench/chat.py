"""Ordinary chat: what people ask a model, and what is remembered about them.

Made-up words would be too easy for a search: each is either everywhere or nowhere. So these are
English sentences whose topics overlap realistically. A thing such as "tomatoes" is in about one of
a hundred memories, "use" in one of fifteen, and a question has three to fifteen meaningful words,
most of which occur in some memory.
"""

import random


def _words(text: str, between: str = " ") -> list[str]:
    return text.split(between)


_THINGS = _words(
    "tomatoes basil garlic noodles curry rice bread cheese coffee tea chocolate salad soup fish"
    " chicken tofu mushrooms lentils pancakes cookies Python Rust TypeScript Java Kotlin Swift"
    " PostgreSQL Redis SQLite Docker Kubernetes Terraform Linux Vim Emacs Django Flask React Vue"
    " Svelte GraphQL websockets unit-tests migrations logging backups spreadsheets invoices"
    " contracts slides newsletters podcasts novels biographies poetry jazz techno opera guitars"
    " pianos drums chess climbing running cycling swimming yoga hiking camping sailing skiing"
    " football tennis gardening roses tulips compost bees photography portraits film lenses"
    " museums concerts theatre Lisbon Berlin Tokyo Oslo Vienna Lima trains flights hotels visas"
    " mortgages taxes savings pensions insurance solar-panels bicycles e-bikes cars dogs cats"
    " rabbits homework algebra chemistry French Spanish Japanese grammar vocabulary interviews"
    " resumes onboarding standups retrospectives deadlines budgets roadmaps dashboards alerts"
    " laptops monitors keyboards headphones cameras printers thermostats curtains sofas lamps"
    " shelves paint tiles carpets birthdays weddings holidays presents cards"
)
_QUALITIES = _words(
    "short long dark light cheap fresh quiet simple small large early late warm cold plain spicy"
    " sweet vegan local remote paper digital weekly daily typed async annual second-hand organic"
    " printed bright soft"
)
_DOINGS = _words(
    "plan write review cook compare test deploy translate summarise explain draft fix book"
    " organise clean repair paint practise learn teach measure schedule rewrite debug sketch"
    " photograph publish sort pack"
)
_PLACES = _words(
    "at home; in the office; on the train; in the kitchen; at the client; in the garden; in the"
    " new project; on my laptop; in the team; at school; on holiday; in the evening; on Mondays;"
    " before breakfast; after lunch; in winter; for the children; for my sister; for the report;"
    " for the website; with the neighbours; in the city; for the launch; in production",
    between="; ",
)
_STATEMENTS = (
    "I prefer {quality} {thing} to {other} {place}",
    "I like {thing} with {other}",
    "I really enjoy {doing}ing {thing} {place}",
    "I don't like {quality} {thing} {place}",
    "I avoid {thing} {place}",
    "We decided to {doing} the {thing} {place}",
    "We will use {thing} instead of {other} {place}",
    "I switched to {quality} {thing} because of the {other}",
    "I usually {doing} {thing} {place}",
    "I never {doing} {quality} {thing} {place}",
    "My favorite {thing} are the {quality} ones {place}",
    "We went with {thing} and {other} {place}",
    "I always {doing} the {thing} before the {other}",
    "I tend to {doing} {quality} {thing} {place}",
    "I can't stand {quality} {thing}",
)
_QUESTIONS = (
    "Can you help me {doing} the {thing}?",
    "What should I know about {quality} {thing} {place}?",
    "How do I {doing} {thing} when I only have {other}?",
    "Which {thing} would you recommend for a {quality} weekend {place}?",
    "Write a {quality} message to my manager about the {thing} and ask for two more days.",
    (
        "I have to {doing} {thing} {place} tomorrow, and there is no time. What is the best order"
        " of steps, and what can I leave out?"
    ),
    "Give me three ideas for {thing} {place}, with a rough price for each.",
    (
        "My {thing} stopped working after I tried to {doing} the {other}. It says that something"
        " is missing, but I do not see what. Where should I look first, and how do I undo it?"
    ),
    "Compare {thing} and {other} for somebody who is new to both, in a small table.",
    "Is it a good idea to {doing} {quality} {thing} {place}?",
)


def statements(count: int, seed: str) -> list[str]:
    """This many memories, the same in every run; hardly any two are equal."""
    generator = random.Random(seed)
    return [_filled(generator, _STATEMENTS) for _ in range(count)]


def questions(count: int) -> list[str]:
    """This many prompts, different ones in every call."""
    generator = random.Random()
    return [_filled(generator, _QUESTIONS) for _ in range(count)]


def _filled(generator: random.Random, sentences: tuple[str, ...]) -> str:
    thing, other = generator.sample(_THINGS, 2)
    return generator.choice(sentences).format(
        thing=thing,
        other=other,
        quality=generator.choice(_QUALITIES),
        doing=generator.choice(_DOINGS),
        place=generator.choice(_PLACES),
    )
