"""The words of the synthetic notes of ``frontier.py``."""

from __future__ import annotations

SUBJECTS = (
    *("the harbour crane", "the pilot boat", "the customs shed", "the lighthouse keeper"),
    *("the ward sister", "the blood bank", "the night porter", "the dialysis room"),
    *("the orchard foreman", "the cider press", "the seed store", "the irrigation pump"),
    *("the print shop", "the map archive", "the reading room", "the bindery"),
    *("the tram depot", "the signal cabin", "the ticket office", "the brake workshop"),
    *("the bakery", "the flour mill", "the cheese cellar", "the smokehouse"),
    *("the theatre wardrobe", "the orchestra pit", "the box office", "the scene painter"),
    *("the quarry", "the brick kiln", "the stone mason", "the gravel barge"),
    *("the observatory", "the tide gauge", "the weather balloon", "the seismograph"),
    *("the school kitchen", "the chess club", "the swimming coach", "the caretaker"),
    *("the insurance desk", "the pension fund", "the auditor", "the notary"),
    *("the glass furnace", "the dye works", "the rope walk", "the tannery"),
)
VERBS = (
    *("lost", "borrowed", "repainted", "sold", "ordered", "returned", "measured", "insured"),
    *("found", "broke", "cleaned", "hid", "rented", "tested", "moved", "copied"),
    *(
        "weighed",
        "praised",
        "refused",
        "photographed",
        "replaced",
        "donated",
        "labelled",
        "counted",
    ),
    *("missed", "described", "burned", "mended", "locked", "auctioned", "inherited", "polished"),
)
OBJECTS = (
    *("a ladder", "the hedge", "trailers", "a diary", "fuses", "the alarm", "a piano"),
    *("invoices", "a trumpet", "the wallpaper", "some salt", "a telescope", "six umbrellas"),
    *("the ledger", "a bicycle", "velvet curtains", "a stuffed owl", "garden chairs", "the keys"),
    *("a typewriter", "copper pipes", "a tent", "the chimney", "candles", "a compass", "sacks"),
    *("a sledge", "wedding photos", "the carpet", "an anvil", "lemons", "a parrot", "the awning"),
    *("blankets", "a cuckoo clock", "barrels", "the mirror", "an accordion", "marbles", "a kite"),
    *("tin soldiers", "the mailbox", "a cradle", "onions", "a globe", "paint brushes", "a statue"),
    *("the kettle", "rubber boots", "a scarecrow", "chess sets", "the banner", "a wheelbarrow"),
    *("hats", "a toolbox", "the guestbook", "lanterns", "a saddle", "the doorbell", "a raft"),
)
TIMES = (
    *("before breakfast", "on Fridays", "since the flood", "during Lent", "at dusk"),
    *("after the merger", "provisionally", "in leap years", "at half pay", "by candlelight"),
    *("without a permit", "against advice", "for the jubilee", "behind schedule", "on a dare"),
    *("under protest", "on credit", "in the rain", "despite the strike", "by post"),
    *("on the mainland", "hastily", "out of habit", "to save fuel", "as agreed"),
    *("in Latin", "before the frost", "at the old rate", "through a broker", "in pairs"),
    *("under the bridge", "near Lisbon", "by mistake", "at midnight", "without gloves", "twice"),
    *(
        "for charity",
        "with tweezers",
        "during the eclipse",
        "on television",
        "in Norway",
        "by hand",
    ),
    *(
        "behind the altar",
        "for a bet",
        "in secret",
        "after the funeral",
        "on Tuesday",
        "at auction",
    ),
    *("with a crowbar", "beside the canal", "in bad faith", "over lunch", "upside down", "at sea"),
    *("on horseback", "for the mayor", "in disguise", "by lottery", "on stilts", "at Easter"),
)
HANDING = (
    *("{0} passes the parcel to {1}", "{0} reports to {1}", "{1} opens what {0} mails"),
    *("{0} lends a van to {1}", "{1} signs after {0}", "the courier goes from {0} to {1}"),
    *("{0} relays calls to {1}", "{1} stands in for {0}", "{0} pays rent to {1}"),
    *("{1} is the heir of {0}", "{0} tells {1} everything", "{1} collects for {0}"),
    *("{0} translates for {1}", "the pipe of {0} ends at {1}", "{0} left the file with {1}"),
    *("{1} checks sums by {0}", "{0} forwards requests to {1}", "{1} drives {0} home"),
)
"""Phrases for handing something from one person to another."""
PROJECT = ("for project {}", "at the wish of {}", "in the {} affair", "with money from {}")
STATES = (
    *(("valve", "open", "shut"), ("lamp", "lit", "dark"), ("tank", "full", "empty")),
    *(("flag", "raised", "lowered"), ("gate", "bolted", "unbolted"), ("fan", "spinning", "idle")),
    *(("siren", "armed", "silent"), ("boiler", "hot", "cold"), ("hatch", "sealed", "ajar")),
    *(("meter", "running", "stopped"), ("sign", "green", "red"), ("rope", "taut", "slack")),
    *(("drawer", "locked", "free"), ("blind", "up", "down"), ("radio", "on air", "mute")),
    *(("permit", "granted", "pending"), ("seal", "whole", "broken"), ("lift", "working", "stuck")),
)
"""Things that have one of two states."""

TOPICS = (
    (
        "The kitten and the puppy refuse their dinner.",
        "Cats, dogs and other pets need a veterinarian.",
        "Stray animals get food at the shelter.",
    ),
    (
        "Heavy snow and ice blocked roads in the Alps.",
        "A winter blizzard brought frost to the mountain.",
        "Skiing and sledding stop in freezing storms.",
    ),
    (
        "The violin and viola players tune with the oboe.",
        "Cello, flute and piano music filled the concert.",
        "An orchestra rehearses a symphony by Mozart.",
    ),
    (
        "Mortgage rates at banks climbed again.",
        "Lenders charge more interest on home loans.",
        "Borrowers refinance housing debt and credit.",
    ),
    (
        "The doctor diagnosed pneumonia in a patient.",
        "Hospital nurses treat fever, cough and infection.",
        "Physicians prescribe antibiotics for lung disease.",
    ),
    (
        "Tomato and pepper seedlings grow in pots.",
        "Vegetable gardens want compost and soil.",
        "Gardeners plant cucumbers, lettuce and herbs.",
    ),
    (
        "Her passport has expired before the flight abroad.",
        "International travellers require a visa at immigration.",
        "Embassies issue travel documents to foreign tourists.",
    ),
    (
        "The hard disk of the laptop crashed.",
        "Computer software corrupted files on the server.",
        "Backup storage drives save digital data.",
    ),
    (
        "The goalkeeper missed the penalty in the final.",
        "A football striker scored two goals.",
        "Soccer teams lost their league matches.",
    ),
    (
        "Bees made honey in the southern hive.",
        "A swarm of wasps and beetles stung her.",
        "Butterflies and other insects pollinate flowers.",
    ),
    (
        "The defendant lied to the jury in his trial.",
        "A judge heard the lawyer in court.",
        "Prosecutors charged the suspect with a crime.",
    ),
    (
        "Bread dough with yeast rises in the oven.",
        "Baking cakes takes flour, sugar and butter.",
        "Pastry and cookies come from the bakery chef.",
    ),
    (
        "The aircraft landed with a broken engine.",
        "Pilots of a passenger jet reached the airport.",
        "Airline crews fly planes through turbulence.",
    ),
    (
        "The river flooded the whole valley.",
        "Heavy rain made streams and lakes overflow.",
        "Water levels rise behind the dam in storms.",
    ),
)
"""Three notes each on one thing, hardly with a word in common."""

COMMON_TAGS = (
    *("intake", "people", "money", "repairs", "safety", "supplies"),
    *("letters", "meetings", "queue", "upgrade", "outdoors", "history"),
)
CATEGORIES = ("fact", "observation", "plan", "knowledge")
RELATIONS = (
    *("supports", "contradicts", "causes", "elaborates", "feeds", "delays"),
    *("guards", "replaces", "inspects", "pays", "warns", "precedes"),
)
GIVEN_NAMES = (
    *("Anna", "Boris", "Clara", "David", "Elena", "Felix", "Greta", "Hugo", "Irene", "Jonas"),
    *("Karin", "Leo", "Maria", "Nils", "Olga", "Paul", "Rosa", "Simon", "Thea", "Victor"),
    *("Alice", "Bruno", "Cecil", "Dora", "Edgar", "Flora", "Gustav", "Helen", "Ivan", "Judith"),
)
PROJECTS = (
    *("Falcon", "Bluebell", "Compass Rose", "Redwood", "Sapphire"),
    *("Meridian", "Thunder", "Marigold", "Northstar", "Lagoon"),
)
SYLLABLES = (
    *("bra", "cul", "dor", "fen", "gim", "hal", "jor", "kes", "lum", "mor", "nev", "ost"),
    *("pal", "quin", "rud", "sil", "tam", "vex", "wyl", "yar", "zan", "ebb", "ith", "ock"),
)
