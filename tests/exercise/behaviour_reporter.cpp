// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
// What a learner sees of a check: one line for each behaviour, then the first that is missing in
// words. Chosen by `--reporter behaviours`.
#include <catch2/catch_test_case_info.hpp>
#include <catch2/interfaces/catch_interfaces_registry_hub.hpp>
#include <catch2/interfaces/catch_interfaces_testcase.hpp>
#include <catch2/reporters/catch_reporter_registrars.hpp>
#include <catch2/reporters/catch_reporter_streaming_base.hpp>

#include <csignal>
#include <cstdlib>
#include <string>

namespace {

std::string words_for_signal(const std::string& error) {
    if (error.starts_with("SIGTERM")) {
        const char* limit = std::getenv("COURSE_TIME_LIMIT");  // seconds, set by ./course
        return std::string("it did not come back ") +
               (limit == nullptr ? "in time" : std::string("within ") + limit + " s") +
               ": is there a loop that never ends?";
    }
    return "it crashed (" + error + "): is memory touched that belongs to nobody?";
}

std::string words_for(const Catch::AssertionResult& result) {
    const std::string message(result.getMessage());
    switch (result.getResultType()) {
        case Catch::ResultWas::ThrewException:
            return "it threw: " + message;
        case Catch::ResultWas::ExplicitSkip:
            return "it was not run: " + message;
        case Catch::ResultWas::FatalErrorCondition:
            return words_for_signal(message);
        case Catch::ResultWas::DidntThrowException:
            return "no exception came out of: " + result.getExpression();
        default:
            break;
    }
    return result.hasExpression()
               ? "wanted: " + result.getExpression() + "\ngot:    " + result.getExpandedExpression()
               : message;
}

std::string indented(const std::string& text) {
    std::string lines = "  ";
    for (const char c : text) {
        lines += c;
        if (c == '\n') {
            lines += "  ";
        }
    }
    return lines;
}

class BehaviourReporter : public Catch::StreamingReporterBase {
  public:
    using StreamingReporterBase::StreamingReporterBase;

    static std::string getDescription() { return "one line for each behaviour of an exercise"; }

    void assertionEnded(const Catch::AssertionStats& stats) override {
        const bool skipped =
            stats.assertionResult.getResultType() == Catch::ResultWas::ExplicitSkip;
        if ((stats.assertionResult.isOk() && !skipped) || !first_missing_.empty()) {
            return;
        }
        first_missing_ = currentTestCaseInfo->name + '\n';
        for (const Catch::MessageInfo& info : stats.infoMessages) {
            if (info.type == Catch::ResultWas::Info) {
                first_missing_ += indented(info.message) + '\n';
            }
        }
        first_missing_ += indented(words_for(stats.assertionResult)) + '\n';
    }

    void fatalErrorEncountered(Catch::StringRef /*error*/) override { fatal_ = true; }

    void testCaseEnded(const Catch::TestCaseStats& stats) override {
        const bool ok = stats.totals.testCases.allPassed();
        num_ok_ += ok ? 1 : 0;
        m_stream << (ok ? "  ok       " : "  not yet  ") << stats.testInfo->name << std::endl;
        StreamingReporterBase::testCaseEnded(stats);
    }

    void testRunEnded(const Catch::TestRunStats& stats) override {
        if (fatal_) {
            m_stream << "  the others were not run\n";
        }
        // Of all there are: after a crash some were not run.
        const auto& tests = Catch::getRegistryHub().getTestCaseRegistry().getAllTests();
        m_stream << num_ok_ << " of " << tests.size() << " behaviours\n";
        if (!first_missing_.empty()) {
            m_stream << "\nThe first that is missing: " << first_missing_;
        }
        m_stream << std::flush;
        if (fatal_) {
            std::_Exit(kFatalStatus);  // all is said: no word of the shell about a signal
        }
        StreamingReporterBase::testRunEnded(stats);
    }

  private:
    static constexpr int kFatalStatus = 128 + SIGABRT;  // as a shell reports a program that crashed

    bool fatal_ = false;
    std::string first_missing_;
    int num_ok_ = 0;
};

CATCH_REGISTER_REPORTER("behaviours", BehaviourReporter)

}  // namespace
