# SPDX-FileCopyrightText: The nanoserve authors
# SPDX-License-Identifier: Apache-2.0
#
# awk -v day=19 -v source=NAME -v mode=MODE -f cut_regions.awk exercise.txt SOURCE
#
# A region stands between two lines `//! [name]`; exercise.txt says which ones an exercise takes away, by lines
# `region: name | what is wanted`. A region that is one thing in braces, such as a function or a loop, keeps its
# head, with the comment above it, and its last brace. Modes:
#
#   stub      each region becomes a TODO and an exception that says what is wanted; where the head says constexpr,
#             an exception at run time, since a function that can only throw may not be constexpr
#   empty     each region becomes nothing, or `return {};` where it returned a value
#   solution  the regions alone

function margin_of(line) { match(line, /^ */); return substr(line, 1, RLENGTH) }
function name_in(mark) { gsub(/^ *\/\/! \[|\]$/, "", mark); return mark }
function put(line) { if (mode != "solution") print line }

function show_region(   i) {
    print "// " source ", lines " first_line " to " first_line + count - 1
    for (i = 1; i <= count; i++) print lines[i]
    print ""
}

function throw_at(margin) {
    print margin "throw std::logic_error("
    print margin "    \"implement on Day " day ": " wanted[region] "\");"
}

function empty_region(   i, head, tail, margin, returns, constant) {
    margin = margin_of(lines[1])
    tail = count + 1 # the first line that stays behind what is taken away
    if (lines[count] == margin "}") {
        while (lines[++head] !~ /[{]$/ && head < count) {}
        tail = count
        margin = margin "    "
    }
    for (i = head + 1; i < tail; i++) if (index(lines[i], margin "return ") == 1) returns = 1

    for (i = 1; i <= head; i++) {
        print lines[i]
        if (lines[i] ~ /constexpr/) constant = 1
    }
    if (mode == "stub") print margin "// TODO: " wanted[region] "."
    if (mode == "stub" && constant) {
        print margin "if (!std::is_constant_evaluated()) {"
        throw_at(margin "    ")
        print margin "}"
        print margin "return {};"
    } else if (mode == "stub") {
        throw_at(margin)
    } else if (returns) {
        print margin "return {};"
    }
    for (i = tail; i <= count; i++) print lines[i]
}

FNR == NR { # exercise.txt
    if (sub(/^region: */, "")) {
        bar = index($0, " | ")
        wanted[substr($0, 1, bar - 1)] = substr($0, bar + 3)
    }
    next
}

/^ *\/\/! \[.*\]$/ && region == "" && name_in($0) in wanted { # a region begins
    region = name_in($0)
    first_line = FNR + 1
    count = 0
    put($0)
    next
}

/^ *\/\/! \[.*\]$/ && name_in($0) == region { # it ends
    if (mode == "solution") show_region(); else empty_region()
    put($0)
    region = ""
    next
}

region != "" { lines[++count] = $0; next }

mode == "stub" && /^#include/ && !told++ {
    print "// The exercise of Day " day ": fill in what throws. ./course check day" day
    print "#include <stdexcept>"
    if (source ~ /[.]hpp$/) print "#include <type_traits>"
}

{ put($0) }

END {
    if (region != "") {
        print source ": region [" region "] has no end" >"/dev/stderr"
        exit 1
    }
}
