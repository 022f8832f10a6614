from django.urls import path, re_path

from accounts import account_pages, invitation_pages, people_pages, views

app_name = "accounts"
urlpatterns = [
    path("sign-in/", views.sign_in, name="sign_in"),
    path("sign-out/", views.sign_out, name="sign_out"),
    # account/
    path("account/", account_pages.account, name="account"),
    path("account/password/", account_pages.change_password, name="change_password"),
    path("account/tokens/<str:public_id>/revoke/", account_pages.revoke, name="revoke_token"),
    # invitation/
    path("invitation/<str:token>/", invitation_pages.invitation, name="invitation"),
    # people/
    path("people/", people_pages.people, name="people"),
    path("people/<slug:slug>/", people_pages.people, name="people_of"),
    re_path(
        r"^people/(?P<slug>[-\w]+)/(?P<public_id>[^/]+)/(?P<verb>role|password|remove)/$",
        people_pages.change_person,
        name="change_person",
    ),
    path(
        "people/<slug:slug>/invitations/<str:public_id>/withdraw/",
        people_pages.withdraw_invitation,
        name="withdraw_invitation",
    ),
]
