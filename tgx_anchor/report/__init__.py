r"""A self-contained page that shows predicted anchors."""

from tgx_anchor.report.label_doubt import LabelDoubt
from tgx_anchor.report.report_content import ReportContent
from tgx_anchor.report.write_report import write_report

__all__ = ['LabelDoubt', 'ReportContent', 'write_report']
